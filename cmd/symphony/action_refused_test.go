package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/symphony-runner/symphony/internal/githubtest"
)

func TestRefusedWorkIsInTheArtifactThatTheSummaryNames(t *testing.T) {
	t.Parallel()
	d := newDeliveries(t, "github.md")
	d.publishCheckout()
	d.github.AddIssue(githubtest.Issue{Title: "Deploy", Body: "- [ ] Create `.github/workflows/x.yml` containing `on: push`\n", Labels: []string{"bug", "symphony"}})
	o := d.job("upload-logs", "true").perform()
	o.want(t, "success", "dispatched", "1", "completed", "0", "failed", "1", "pull-requests", "[]")
	if branches := d.github.Branches(); len(branches) != 2 || branches["symphony/GH-1"] != "" {
		t.Errorf("the remote has the branches %v", branches)
	}
	if want := "\n  - .github/workflows/x.yml: the path is protected"; !strings.Contains(o.summary, want) {
		t.Errorf("the summary does not say %q:\n%s", want, o.summary)
	}
	if strings.Contains(o.summary, checksWait) {
		t.Errorf("the summary speaks of checks where there is no pull request:\n%s", o.summary)
	}

	named := regexp.MustCompile("published: (\\S+) of the artifact (\\S+) keeps it\\. .*\n\n```sh\n([^`]+)```").FindStringSubmatch(o.summary)
	if named == nil {
		t.Fatalf("the summary names no artifact and no commands:\n%s", o.summary)
	}
	kept := filepath.Join(d.store(), named[2], named[1])
	clone := t.TempDir()
	if err := os.CopyFS(clone, os.DirFS(kept)); err != nil {
		t.Fatalf("the artifact is not as the summary says: %v; it has %v", err, d.stored(named[2]+"/*"))
	}
	files := d.stored(named[2] + "/" + named[1] + "/*")
	script := "git init -q . && git fetch -q " + d.github.GitDir() + " main && git reset -q --hard FETCH_HEAD\n" + named[3]
	cmd := exec.Command("sh", "-e", "-c", script)
	cmd.Dir = clone
	if out, err := cmd.CombinedOutput(); err != nil || !slices.Equal(files, []string{"work.bundle", "work.patch"}) {
		t.Errorf("%v are not of use with\n%s\n%v\n%s", files, script, err, out)
	}
	if text, err := os.ReadFile(filepath.Join(clone, ".github/workflows/x.yml")); err != nil || string(text) != "on: push\n" {
		t.Errorf("the commands brought %q, %v", text, err)
	}
}
