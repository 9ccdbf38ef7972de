package main

import (
	"archive/zip"
	"bytes"
	"cmp"
	"compress/flate"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/symphony-runner/symphony/cmd/symphony/wiring"
	"github.com/symphony-runner/symphony/internal/githubtest"
	"github.com/symphony-runner/symphony/internal/storetest"
	"github.com/symphony-runner/symphony/tracker/github/client"
)

// logOf returns the event log of a session on an issue, which says something.
func logOf(identifier, says string) string {
	text, _ := json.Marshal(says) // a string always marshals
	return fmt.Sprintf(`{"t_ms":0,"session":{"began":"2026-03-01T12:00:00Z","issue_id":%q,"identifier":%[1]q,"title":"Carts","number":1,"run":"77"}}
{"t_ms":5,"dir":"<","msg":{"method":"item/completed","params":{"item":{"type":"agentMessage","text":%s}}}}
{"t_ms":9,"outcome":{"class":"done"}}
`, identifier, text)
}

const logName = "20260301T120000.000Z-1.jsonl"

// atGitHub returns a project beside a GitHub whose run 77 has two artifacts, of its two
// attempts.
func atGitHub(t *testing.T) (*project, *githubtest.GitHub) {
	t.Helper()
	const token = "ghs_0123456789abcdefTOKEN"
	g := githubtest.New(t, storetest.Config{Repo: "acme/shop", Token: token})
	g.AddArtifact(githubtest.Artifact{Run: 77, Name: "symphony-77-1-abc", Files: map[string]string{"logs/GH-7/" + logName: logOf("GH-7", "the first"), "report.json": "{}"}})
	g.AddArtifact(githubtest.Artifact{Run: 77, Name: "symphony-77-2-def", Files: map[string]string{
		"logs/GH-8/" + logName: logOf("GH-8", "the token is "+token), "logs/GH-7/20260301T130000.000Z-2.jsonl": logOf("GH-7", "the second"),
	}})
	g.AddArtifact(githubtest.Artifact{Run: 77, Name: "symphony-77-0-old", Expired: true, Files: map[string]string{}})
	for _, name := range []string{"coverage", "symphony-plan-1", "symphony-result-1-1"} { // a fleet hands over no logs
		g.AddArtifact(githubtest.Artifact{Run: 77, Name: name, Packed: []byte("no zip")})
	}
	g.AddArtifact(githubtest.Artifact{Run: 78, Name: "coverage", Packed: []byte("no zip")})
	p := emptyProject(t)
	p.env = append(p.env, "GITHUB_API_URL="+g.URL(), "GITHUB_SERVER_URL="+g.ServerURL(), "GITHUB_REPOSITORY=acme/shop", "GITHUB_TOKEN="+token)
	return p, g
}

func TestTheLogsOfAWorkflowRunAreReadFromItsArtifacts(t *testing.T) {
	t.Parallel()
	p, g := atGitHub(t)
	if r := p.ok("log", "--run", "77", "gh-7"); r.stderr != "" || !strings.HasPrefix(r.stdout, "GH-7 Carts\n") || !strings.Contains(r.stdout, "the second") || strings.Contains(r.stdout, "the first") {
		t.Error(r.stderr, r.stdout)
	}
	if r := p.ok("log", "--run", g.ServerURL()+"/acme/shop/actions/runs/77/attempts/1?pr=3", "--session", "1", "GH-7"); !strings.Contains(r.stdout, "the first") {
		t.Error(r.stdout)
	}
	r := p.ok("log", "--run", "77", "--list")
	for _, want := range []string{"GH-7", "GH-8", "the artifact of workflow run 77/GH-7/" + logName, "the session ended well"} {
		if !strings.Contains(r.stdout, want) {
			t.Errorf("no %q in\n%s", want, r.stdout)
		}
	}
	for _, format := range []string{"--json", "--html", "--list=false"} {
		if r := p.ok("log", "--run", "77", format, "GH-8"); strings.Contains(r.stdout, "TOKEN") || !strings.Contains(r.stdout, "the token is ***") {
			t.Errorf("%s shows the token, or not the message:\n%s", format, r.stdout)
		}
	}
}

func TestARunWithoutLogsSaysWhatToDo(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		run   string
		unset string
		want  string
	}{
		"no artifact":    {"78", "", "workflow run 78 has no artifact of Symphony"},
		"no such run":    {"79", "", "workflow run 79 has no artifact of Symphony"},
		"no number":      {"seven", "", "write the number of a workflow run"},
		"another server": {"https://evil.example/acme/shop/actions/runs/77", "", "or the address of its page on http://127.0.0.1"},
		"no token":       {"77", "GITHUB_TOKEN", "and GH_ENTERPRISE_TOKEN, as with GH_ENTERPRISE_TOKEN=$(gh auth token --hostname 127.0.0.1:"},
		"no repository":  {"77", "GITHUB_REPOSITORY", "set GITHUB_REPOSITORY to owner/name"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, g := atGitHub(t)
			if test.unset != "" {
				p.env = append(p.env, test.unset+"=")
			}
			if r := p.run("log", "--run", test.run); r.code != exitUsage || !strings.Contains(r.stderr, test.want) {
				t.Errorf("%d: %s", r.code, r.stderr)
			}
			if strings.Contains(name, "server") && len(g.Asked()) > 0 {
				t.Errorf("it asked %v", g.Asked())
			}
		})
	}
}

// TestATokenIsNotSentToAnotherServer names one server by the environment, and another one
// by the environment or by the workflow.
func TestATokenIsNotSentToAnotherServer(t *testing.T) {
	t.Parallel()
	for name, apiURL := range map[string]bool{"by the workflow": true, "by the environment": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, g := atGitHub(t)
			p.env = append(p.env, "GITHUB_SERVER_URL=https://ghe.example.org")
			if apiURL {
				p.env = append(p.env, "GITHUB_API_URL=")
				p.write("WORKFLOW.md", "---\ntracker: {kind: github, provider: {repo: acme/shop, api_url: "+g.URL()+"}}\n---\nGo.\n")
			}
			r := p.run("log", "--run", "77", "GH-7")
			if r.code != exitUsage || !strings.Contains(r.stderr, "GITHUB_SERVER_URL names ghe.example.org, but") || len(g.Asked()) > 0 {
				t.Errorf("%d, asked %v: %s", r.code, g.Asked(), r.stderr)
			}
		})
	}
}

// TestTheServerThatAStrangerNamesGetsNoToken has a WORKFLOW.md whose server nobody else
// names.
func TestTheServerThatAStrangerNamesGetsNoToken(t *testing.T) {
	t.Parallel()
	p, g := atGitHub(t)
	p.write("WORKFLOW.md", "---\ntracker: {kind: github, provider: {repo: acme/shop, api_url: "+g.URL()+"}}\n---\nGo.\n")
	p.env = append(p.env, "GITHUB_API_URL=", "GITHUB_SERVER_URL=", "GH_TOKEN=ghp_1", "GITHUB_TOKEN=ghp_2", "GH_ENTERPRISE_TOKEN=ghp_3", "GITHUB_ENTERPRISE_TOKEN=ghp_4")
	p.write(".config/gh/hosts.yml", "github.com:\n    oauth_token: ghp_5\n")
	r := p.run("log", "--run", "77", "GH-7")
	if r.code != exitUsage || !strings.Contains(r.stderr, "if you trust it") || len(g.Asked()) > 0 {
		t.Errorf("%d, asked %v: %s", r.code, g.Asked(), r.stderr)
	}
}

func TestAWrongServerOfTheWorkflowIsRefused(t *testing.T) {
	t.Parallel()
	for name, front := range map[string]string{
		"a wrong address":    "tracker: {kind: github, provider: {repo: acme/shop, api_url: nowhere}}",
		"no kind of tracker": "tracker: {kind: githb, provider: {repo: acme/shop, api_url: https://ghe.example.org/api/v3}}",
		"no settings":        "tracker: [",
	} {
		p, g := atGitHub(t)
		p.env = append(p.env, "GITHUB_API_URL=")
		p.write("WORKFLOW.md", "---\n"+front+"\n---\nGo.\n")
		r := p.run("log", "--run", "77", "GH-7")
		if r.code != exitUsage || !strings.Contains(r.stderr, "WORKFLOW.md does not say which server has the run") || len(g.Asked()) > 0 {
			t.Errorf("%s: %d, asked %v: %s", name, r.code, g.Asked(), r.stderr)
		}
	}
}

// TestATokenIsForItsHostsAlone sets every variable, and asks which of them a host gets.
func TestATokenIsForItsHostsAlone(t *testing.T) {
	t.Parallel()
	const job, gh = "GITHUB_SERVER_URL=https://ghe.example.org:8443/", "GH_HOST=GHE.example.com"
	for name, test := range map[string]struct {
		host string
		env  []string
		want string
	}{
		"github.com":                      {host: "github.com", want: "GH_TOKEN GITHUB_TOKEN"},
		"a host of ghe.com":               {host: "acme.ghe.com", want: "GH_TOKEN GITHUB_TOKEN"},
		"github.com, in a job there":      {host: "github.com", env: []string{"GITHUB_SERVER_URL=https://github.com"}, want: "GH_TOKEN GITHUB_TOKEN"},
		"github.com, in a job elsewhere":  {host: "github.com", env: []string{job}, want: "GH_TOKEN"},
		"ghe.com, in a job on github.com": {host: "acme.ghe.com", env: []string{"GITHUB_SERVER_URL=https://github.com"}, want: "GH_TOKEN"},
		"the server of the job":           {host: "ghe.example.org:8443", env: []string{job}, want: "GH_ENTERPRISE_TOKEN GITHUB_ENTERPRISE_TOKEN GITHUB_TOKEN"},
		"another port of it":              {host: "ghe.example.org", env: []string{job}},
		"the server of gh":                {host: "ghe.example.com", env: []string{job, gh}, want: "GH_ENTERPRISE_TOKEN GITHUB_ENTERPRISE_TOKEN"},
		"a server with a login of gh":     {host: "known.example.net", env: []string{job, gh}, want: "GH_ENTERPRISE_TOKEN GITHUB_ENTERPRISE_TOKEN"},
		"any other":                       {host: "evil.example", env: []string{job, gh}},
		"any other, without a server":     {host: "evil.example"},
		"one like github.com":             {host: "github.com.evil.example"},
		"one like ghe.com":                {host: "evilghe.com"},
		"the API of github.com":           {host: "api.github.com"},
		"another port of github.com":      {host: "github.com:8443"},
		"none":                            {host: ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			config := t.TempDir()
			if err := os.WriteFile(filepath.Join(config, "hosts.yml"), []byte("known.example.net:\n    user: kim\ngithub.com:\n    oauth_token: gho_1\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			a := &app{Process: wiring.Process{Environ: append(test.env, "GH_CONFIG_DIR="+config)}}
			if got := strings.Join(a.gitHub().Login().Variables(test.host), " "); got != test.want {
				t.Errorf("%q gets %q", test.host, got)
			}
			want := ""
			if test.host == "github.com" {
				want = "gho_1"
			}
			if token, from := a.gitHub().Login().Token(test.host); token != want {
				t.Errorf("%q gets %q of %s", test.host, token, from)
			}
		})
	}
}

func TestTheServerOfOriginIsThatOfTheRun(t *testing.T) {
	t.Parallel()
	const enterprise = "https://ghe.example.org/acme/shop.git"
	for name, test := range map[string]struct {
		origin, tracker string
		env             []string
		want            string
	}{
		"github.com":                {origin: "https://github.com/acme/shop", want: "acme/shop on https://github.com"},
		"an enterprise server":      {origin: enterprise, want: "acme/shop on https://ghe.example.org"},
		"by ssh":                    {origin: "git@ghe.example.org:acme/shop.git", want: "acme/shop on https://ghe.example.org"},
		"which gh has too":          {origin: enterprise, env: []string{"GH_HOST=ghe.example.org"}, want: "acme/shop on https://ghe.example.org"},
		"gh has another one":        {origin: enterprise, env: []string{"GH_HOST=ghe.example.com"}, want: " on https://ghe.example.com"},
		"a job elsewhere":           {origin: enterprise, env: []string{"GITHUB_SERVER_URL=https://github.com/"}, want: " on https://github.com"},
		"a tracker of that server":  {origin: enterprise, tracker: "github", want: "acme/shop on https://ghe.example.org"},
		"a tracker of another one":  {origin: enterprise, tracker: "github, provider: {repo: acme/other}", want: "acme/other on https://github.com"},
		"a name in the environment": {origin: enterprise, env: []string{"GITHUB_REPOSITORY=acme/other"}, want: "acme/other on https://ghe.example.org"},
		"gh has no host":            {origin: enterprise, env: []string{"GH_HOST=$(id)"}, want: " on "},
		"nothing names one":         {want: " on https://github.com"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := checkout(t, test.origin)
			path := filepath.Join(p.dir, "WORKFLOW.md")
			p.write("WORKFLOW.md", "---\ntracker: {kind: "+cmp.Or(test.tracker, "file")+"}\n---\nGo.\n")
			l := &logCommand{app: &app{Process: wiring.Process{Environ: test.env, Stdout: t.Output(), Stderr: t.Output()}}}
			l.DetectActions()
			in, err := l.workflows(path).Inspect()
			if err != nil {
				t.Fatal(err)
			}
			repo, server, api, err := l.gitHub().RunServer(path, in.Workflow)
			if got := repo + " on " + server; got != test.want || err == nil && api != client.APIOf(server) {
				t.Errorf("%s, API %s (%v)", got, api, err)
			}
		})
	}
}

// A zip can have names that lead elsewhere, and a small one can hold more than any disk.
func TestAHostileArtifactHarmsNothing(t *testing.T) {
	t.Parallel()
	p, g := atGitHub(t)
	p.exe = program(t) // with the race detector it reads so much ten times as slowly
	var packed bytes.Buffer
	z := zip.NewWriter(&packed)
	z.RegisterCompressor(zip.Deflate, func(w io.Writer) (io.WriteCloser, error) { return flate.NewWriter(w, flate.BestSpeed) })
	add := func(name string, fill func(w func(string))) {
		w, err := z.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Deflate})
		if err != nil {
			t.Fatal(err)
		}
		fill(func(text string) {
			if _, err := w.Write([]byte(text)); err != nil {
				t.Fatal(err)
			}
		})
	}
	for _, name := range []string{"../../evil", "/evil", "logs/../../evil/" + logName, "logs/GH-1/../../" + logName, `logs\GH-2\` + logName} {
		add(name, func(w func(string)) { w(logOf("evil", "evil")) })
	}
	zeros := strings.Repeat("\x00", 1<<20)
	add("logs/GH-9/"+logName, func(w func(string)) {
		w(logOf("GH-9", "hello\x1b[2J\u202e"))
		for range maxShown>>20 + 2 {
			w(zeros)
		}
	})
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	g.AddArtifact(githubtest.Artifact{Run: 79, Name: "symphony-79", Packed: packed.Bytes()})
	r := p.ok("log", "--run", "79", "--list")
	if strings.Contains(r.stdout, "evil") || !strings.Contains(r.stdout, "GH-9") {
		t.Error(r.stdout)
	}
	if r := p.ok("log", "--run", "79", "GH-9"); !strings.Contains(r.stdout, "hello") || strings.ContainsAny(r.stdout, "\x1b\x00\u202e") || len(r.stdout) > 10_000 {
		t.Errorf("%d bytes: %.500q", len(r.stdout), r.stdout)
	}
	if found, _ := filepath.Glob(filepath.Join(p.dir, "*")); len(found) > 0 {
		t.Errorf("it wrote %v", found)
	}
	if _, err := os.Stat(filepath.Join(filepath.Dir(p.dir), "evil")); err == nil {
		t.Error("it wrote outside of its folder")
	}
}

func TestTheFileOfALogIsItsUsersAlone(t *testing.T) {
	t.Parallel()
	p, _ := atGitHub(t)
	for name, mode := range map[string]os.FileMode{"new": 0, "there": 0o644} {
		path := filepath.Join(p.dir, name)
		if mode != 0 {
			p.write(name, "old")
			if err := os.Chmod(path, mode); err != nil {
				t.Fatal(err)
			}
		}
		p.ok("log", "--run", "77", "-o", path, "GH-7")
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 || info.Size() == 0 {
			t.Errorf("%s: %v (%v)", name, info, err)
		}
	}
	p.ok("log", "--run", "77", "-o", "/dev/null", "GH-7") // a device keeps its mode
}

func TestAnArtifactThatCannotBeReadHidesNoOther(t *testing.T) {
	t.Parallel()
	p, g := atGitHub(t)
	g.AddArtifact(githubtest.Artifact{Run: 77, Name: "symphony-77-damaged", Packed: []byte("no zip")})
	g.AddArtifact(githubtest.Artifact{Run: 81, Name: "symphony-81-damaged", Packed: []byte("no zip")})
	r := p.ok("log", "--run", "77", "--session", "1", "GH-7")
	if !strings.Contains(r.stdout, "the first") || !strings.Contains(r.stderr, `warning: artifact "symphony-77-damaged" cannot be unpacked`) {
		t.Errorf("%s\n%s", r.stdout, r.stderr)
	}
	if r := p.run("log", "--run", "81", "GH-7"); r.code == 0 || !strings.Contains(r.stderr, "cannot be unpacked") {
		t.Errorf("%d: %s", r.code, r.stderr)
	}
}
