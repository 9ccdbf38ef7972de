package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"
)

// releasing is a checkout in which a version is released, and the repository it is of.
type releasing struct {
	t                 *testing.T
	dir, remote, path string
}

func newReleasing(t *testing.T) *releasing {
	t.Helper()
	r := &releasing{t: t, dir: t.TempDir(), remote: filepath.Join(t.TempDir(), "remote.git"), path: os.Getenv("PATH")}
	r.git("init", "--quiet", "--bare", "--initial-branch=main", r.remote)
	r.git("init", "--quiet", "--initial-branch=main", r.dir)
	r.git("remote", "add", "origin", r.remote)
	return r
}

func (r *releasing) git(args ...string) string {
	r.t.Helper()
	return runGit(r.t, r.dir, append([]string{"-c", "tag.gpgSign=false"}, args...)...)
}

// tag makes a commit and an annotated tag of a version on it, on a branch.
func (r *releasing) tag(version, branch string) {
	r.t.Helper()
	r.git("commit", "--quiet", "--allow-empty", "--message", version)
	r.git("tag", "--annotate", "--message", version, version)
	r.git("push", "--quiet", "origin", "HEAD:refs/heads/"+branch, "refs/tags/"+version)
}

// decide runs the script for a version, and returns what it prints and whether it succeeds.
func (r *releasing) decide(what, version string) (said string, ok bool) {
	r.t.Helper()
	script, err := filepath.Abs("../../.ci/release")
	if err != nil {
		r.t.Fatal(err)
	}
	cmd := exec.CommandContext(r.t.Context(), "bash", script, what)
	cmd.Dir = r.dir
	cmd.Env = append(os.Environ(), "PATH="+r.path, "TAG="+version, "REMOTE="+r.remote, "BRANCH=main")
	out, err := cmd.CombinedOutput()
	return string(out), err == nil
}

// major returns the version that the tag of the major version is at.
func (r *releasing) major(tag string) string {
	r.t.Helper()
	return r.git("--git-dir="+r.remote, "log", "--max-count=1", "--format=%s", tag)
}

func TestOnlyCommitsOfTheDefaultBranchAreReleased(t *testing.T) {
	t.Parallel()
	r := newReleasing(t)
	r.tag("v1.0.0", "main")
	r.tag("v1.0.1", "main")
	r.tag("v1.0.2", "fix")
	for version, want := range map[string]bool{"v1.0.0": true, "v1.0.1": true, "v1.0.2": false} {
		if said, ok := r.decide("check", version); ok != want || ok == strings.Contains(said, "not on the branch main") {
			t.Errorf("%s is released: %v\n%s", version, ok, said)
		}
	}
}

func TestTheTagOfTheMajorVersionNeverMovesBackwards(t *testing.T) {
	t.Parallel()
	r := newReleasing(t)
	for _, c := range []struct{ version, moved, at string }{
		{"v1.2.0", "true", "v1.2.0"},
		{"v1.10.0", "true", "v1.10.0"},
		{"v1.2.1", "false", "v1.10.0"}, // a backport
		{"v1.10.0", "true", "v1.10.0"}, // once more
	} {
		if r.git("tag", "--list", c.version) == "" {
			r.tag(c.version, "main")
		}
		said, ok := r.decide("move", c.version)
		if at := r.major("v1"); !ok || !strings.HasSuffix(said, "moved="+c.moved+"\n") || at != c.at {
			t.Errorf("%s: v1 is at %s, want %s with moved=%s\n%s", c.version, at, c.at, c.moved, said)
		}
	}
	r.tag("v2.0.0", "main")
	if said, ok := r.decide("move", "v2.0.0"); !ok || r.major("v1") != "v1.10.0" || r.major("v2") != "v2.0.0" {
		t.Errorf("v1 is at %s, v2 at %s\n%s", r.major("v1"), r.major("v2"), said)
	}
}

// TestTwoReleasesAtOnceLeaveTheNewer has the newer one move the tag between the look and the
// push of the older one.
func TestTwoReleasesAtOnceLeaveTheNewer(t *testing.T) {
	t.Parallel()
	r := newReleasing(t)
	r.tag("v1.2.0", "main")
	r.decide("move", "v1.2.0")
	r.tag("v1.3.0", "main")
	git, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	stubs := t.TempDir()
	stub := "#!/bin/sh\nif [ \"$1\" = push ] && [ ! -e " + stubs + "/done ]; then\n  touch " + stubs + "/done\n" +
		"  git -c user.name=Kim -c user.email=kim@example.org commit --quiet --allow-empty --message v1.4.0 && git tag v1.4.0 && " + git + " push --quiet --force origin v1.4.0 HEAD:refs/tags/v1\nfi\nexec " + git + " \"$@\"\n"
	if err := os.WriteFile(filepath.Join(stubs, "git"), []byte(stub), 0o755); err != nil {
		t.Fatal(err)
	}
	r.path = stubs + ":" + r.path
	if said, ok := r.decide("move", "v1.3.0"); !ok || !strings.HasSuffix(said, "moved=false\n") || r.major("v1") != "v1.4.0" {
		t.Errorf("v1 is at %s\n%s", r.major("v1"), said)
	}
}

// TestAReleaseIsPublishedLast holds the workflow to the order in which nothing is public that
// is not complete, and both architectures and their index to an attestation.
func TestAReleaseIsPublishedLast(t *testing.T) {
	t.Parallel()
	var file struct {
		Jobs map[string]struct {
			Needs any
			Steps []step
		}
	}
	if err := yaml.Unmarshal([]byte(readText(t, "../../.github/workflows/release.yml")), &file); err != nil {
		t.Fatal(err)
	}
	var order []string
	for _, s := range file.Jobs["publish"].Steps {
		for name, mark := range map[string]string{"index": ":$GITHUB_REF_NAME-arm64", "tag": ".ci/release move", "image": `%%.*}" "$IMAGE@`, "release": "--draft=false"} {
			if strings.Contains(s.Run, mark) {
				order = append(order, name)
			}
		}
		if strings.HasPrefix(s.Uses, "actions/attest-") {
			order = append(order, "attestation")
		}
	}
	if want := []string{"index", "attestation", "tag", "image", "release"}; !slices.Equal(order, want) {
		t.Errorf("it is published in the order %q, want %q", order, want)
	}
	for name, j := range file.Jobs {
		if j.Needs == nil && name != "check" {
			t.Errorf("the job %s waits for no check of the commit", name)
		}
	}
	bases, digest := 0, regexp.MustCompile(`^[a-z]+:[\w.-]+@sha256:[0-9a-f]{64}\s`)
	for line := range strings.Lines(readText(t, "../../Dockerfile")) {
		if image, is := strings.CutPrefix(line, "FROM "); is {
			bases++
			if !digest.MatchString(image) {
				t.Errorf("the base %s is not named by its digest", image)
			}
		}
	}
	if bases != 3 {
		t.Errorf("%d bases", bases)
	}
}
