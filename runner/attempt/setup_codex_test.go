package attempt

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"maps"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/symphony-runner/symphony/codex"
	"github.com/symphony-runner/symphony/internal/codextest"
	"github.com/symphony-runner/symphony/runner/prompt"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/runner/setup"
)

// newSetupFixture returns a fixture with the real Codex whose agent runs these commands, one in
// each session, and whose project is prepared by a script.
func newSetupFixture(t *testing.T, script string, commands ...string) *repositoryFixture {
	t.Helper()
	var replies []codextest.Reply
	for _, command := range commands {
		replies = append(replies, runs(t, command), done)
	}
	return newSetupFixtureWith(t, nil, script, replies...)
}

// newSetupFixtureWith returns the same for these replies of the model, and a repository with these
// further files.
func newSetupFixtureWith(t *testing.T, files map[string]string, script string, replies ...codextest.Reply) *repositoryFixture {
	t.Helper()
	files = maps.Clone(files)
	if files == nil {
		files = map[string]string{}
	}
	if files["package-lock.json"] == "" {
		files["package-lock.json"] = "{}\n"
	}
	f := newCodexRepository(t, files, append(replies, done)...)
	f.job.Repository.Setup = &Setup{Config: setup.Config{Run: script, Timeout: forever}, Preparations: NewPreparations(f.path("packs"))}
	return f
}

// packs returns the paths of the packs.
func (f *repositoryFixture) packs() []string {
	f.t.Helper()
	found, err := filepath.Glob(f.path("packs/*"))
	f.check(err)
	return found
}

// TestAProjectIsPreparedOnce prepares a project for two sessions in one workspace and a check of
// the work of each. The files are those of the script, in the place of each workspace.
func TestAProjectIsPreparedOnce(t *testing.T) {
	t.Parallel()
	const script = `test "$(git status --porcelain)" = "" && mkdir cache && date +%s%N > cache/when && printf '#!%s/cache/tool\n' "$PWD" > cache/script &&
ln -s "$PWD/cache/when" cache/link && echo warm > ~/warm && echo not kept > untracked`
	const look = `test "$(cat cache/script)" = "#!$PWD/cache/tool" && test "$(cat cache/link)" = "$(cat cache/when)" && test "$(cat ~/warm)" = warm && test ! -e untracked && test -z "$(git status --porcelain)"`
	f := newSetupFixture(t, script,
		look+` && cp cache/when when && echo changed > cache/when && echo cold > ~/warm; echo the first looked $?`,
		look+` && test "$(cat cache/when)" = changed && cp cache/when again; echo the second looked $?`)
	f.job.Repository.Verify = []string{look[:strings.Index(look, " && test -z")] + ` && test "$(cat cache/when)" = "$(cat when)"`}
	for _, want := range []string{"the first looked 0", "the second looked 0"} {
		got := f.session(t.Context())
		if got.Class != schedule.Done || !got.Delivered || len(got.Warnings) > 0 {
			t.Fatalf("%+v", got)
		}
		if log := f.readLog(); !strings.Contains(log, want) {
			t.Errorf("the agent's command failed: %.3000s", log)
		}
	}
	f.assertPublished("2", "again", "package-lock.json", "when")
	if len(f.packs()) != 1 {
		t.Errorf("%q", f.packs())
	}
}

// TestTheHostsOfSetupAreThoseOfItsScriptAlone has a lock file that the agent changes, so that the
// project is prepared for the base, by the tool, and for the check. The token is for the base alone.
func TestTheHostsOfSetupAreThoseOfItsScriptAlone(t *testing.T) {
	t.Parallel()
	for name, online := range map[string]bool{"offline": false, "network": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			host := newTestHost(t)
			const script = `. ./ask; ask GET "dep$REGISTRY" && ! ask POST dep || { echo no such package; exit 3; }
mkdir -p cache && cp package-lock.json cache/lock`
			const command = `. ./ask; ask GET turn; test -z "$REGISTRY" && ! ls "$PACKS" && ! touch "$PACKS/x" && ! cat /proc/*/environ 2>/dev/null | grep -a REGISTRY && echo '{"a":1}' > package-lock.json; echo changed $?`
			f := newSetupFixtureWith(t, map[string]string{"ask": host.ask}, script,
				runs(t, "PACKS="+"$(dirname \"$PWD\")/../packs; "+command), calls(t, "setup", map[string]string{}))
			f.environment = append(f.environment, "REGISTRY=npm_0123456789abcdef")
			f.job.Lookup = func(name string) (string, bool) {
				return map[string]string{"HOME": f.path("home"), "REGISTRY": "npm_0123456789abcdef"}[name], name == "HOME" || name == "REGISTRY"
			}
			s := f.job.Repository.Setup
			s.Env, s.Network, s.Online = []string{"REGISTRY"}, codex.Network{Hosts: []string{host.name}, Private: true}, online
			f.job.Repository.Verify = []string{`test -z "$REGISTRY" && cmp package-lock.json cache/lock`}
			got := f.session(t.Context())
			log, want := f.readLog(), []string{"GET /depnpm_0123456789abcdef"}
			if online {
				want = append(want, "GET /dep", "GET /dep")
			}
			if seen := host.requests(); !slices.Equal(seen, want) {
				t.Errorf("the host has seen %q, want %q", seen, want)
			}
			if !strings.Contains(log, "changed 0") || got.Class != schedule.Done || !got.Delivered || len(f.deliveries) != 1 || f.deliveries[0].Unproven == online {
				t.Fatalf("%+v, deliveries %+v\n%.3000s", got, f.deliveries, log)
			}
			if answered := strings.Contains(log, "setup.run failed without a network (setup.for_agent is offline, which a person can change): exit status 3"); answered == online {
				t.Errorf("the tool says %v", answered)
			}
			if strings.Contains(log, "write the script that changes it into setup.update") == online {
				t.Error("a tool that fails has to name setup.update, which is missing here")
			}
			if strings.Contains(log, "npm_0123456789abcdef") {
				t.Error("the event log holds the token")
			}
		})
	}
}

// TestNothingOfAPreparationOutlivesIt leaves a process that would change the pack and the folder.
func TestNothingOfAPreparationOutlivesIt(t *testing.T) {
	t.Parallel()
	f := newSetupFixture(t, `mkdir cache && echo good > cache/x && (setsid sh -c 'sleep 1; while :; do echo bad > cache/x; done' left-behind >/dev/null 2>&1 &)
mkfifo cache/pipe && ln -s /etc cache/etc && printf '[core]\n\thooksPath = hooks\n' >> .git/config; git config --global core.hooksPath hooks; true`,
		`cat cache/x > a.txt; test ! -e cache/pipe && ! git config --file .git/config core.hooksPath; echo it looked $?`)
	f.job.Repository.Verify = []string{`test "$(cat a.txt)" = good && test "$(cat cache/x)" = good`}
	got := f.session(t.Context())
	if log := f.readLog(); got.Class != schedule.Done || !got.Delivered || len(got.Warnings) > 0 || !strings.Contains(log, "it looked 0") {
		t.Fatalf("%+v\n%.3000s", got, log)
	}
	if left, err := exec.Command("pgrep", "-f", "left-behin[d]").Output(); err == nil {
		t.Errorf("it lives: %s", left)
	}
}

// serveNPM has a host serve version 1.0.0 of a package with one file.
func serveNPM(t *testing.T, host *testHost, name, code string) {
	t.Helper()
	var packed bytes.Buffer
	zipped := gzip.NewWriter(&packed)
	archive := tar.NewWriter(zipped)
	for path, text := range map[string]string{"package/package.json": `{"name": "` + name + `", "version": "1.0.0"}`, "package/index.js": code} {
		if err := archive.WriteHeader(&tar.Header{Name: path, Mode: 0o644, Size: int64(len(text))}); err != nil {
			t.Fatal(err)
		}
		if _, err := archive.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(archive.Close(), zipped.Close()); err != nil {
		t.Fatal(err)
	}
	host.files = map[string]string{
		"/" + name + ".tgz": packed.String(),
		"/" + name: fmt.Sprintf(`{"name": %q, "dist-tags": {"latest": "1.0.0"}, "versions": {"1.0.0": {"name": %[1]q, "version": "1.0.0", "dist": {"tarball": "%s/%[1]s.tgz"}}}}`,
			name, host.url),
	}
}

// TestAnIssueAddsALibrary has the agent name a new package in the manifest of a project with the
// scripts that init writes. With the network of setup the package comes, the test passes, and so
// does the check of the work, which has the lock file. Without it the answer names what is missing,
// and that a person can allow more.
func TestAnIssueAddsALibrary(t *testing.T) {
	t.Parallel()
	npm, err := exec.LookPath("npm")
	if err != nil {
		t.Skip(err)
	}
	suggested, _ := setup.Detect([]string{"package.json", "package-lock.json"})
	for name, online := range map[string]bool{"offline": false, "network": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			host := newTestHost(t)
			serveNPM(t, host, "farewell", "module.exports = () => 'bye'\n")
			mirror := "export npm_config_registry=" + host.url + " npm_config_fetch_retries=0\n"
			f := newSetupFixtureWith(t, map[string]string{
				"package.json":      `{"name": "p"}`,
				"package-lock.json": "{\n  \"name\": \"p\",\n  \"lockfileVersion\": 3,\n  \"requires\": true,\n  \"packages\": {\n    \"\": {\n      \"name\": \"p\"\n    }\n  }\n}\n",
				"app.test.js":       "require('node:test')('it says something', () => require('assert').equal(require('./app')(), 'bye'))\n",
				"app.js":            "module.exports = () => 'hello'\n",
			}, mirror+suggested.Script,
				runs(t, `echo '{"name": "p", "dependencies": {"farewell": "1.0.0"}}' > package.json && echo "module.exports = require('farewell')" > app.js; node --test; echo at first $?`),
				calls(t, "setup", map[string]string{}),
				runs(t, "node --test; echo with it $?"))
			f.tools = filepath.Dir(npm)
			s := f.job.Repository.Setup
			s.Update, s.Keep = mirror+suggested.Update, suggested.Makes
			s.Network, s.Online = codex.Network{Hosts: []string{host.name}, Private: true}, online
			f.job.Repository.Verify = []string{"node --test"}
			got, log := f.session(t.Context()), f.readLog()
			if !strings.Contains(log, "at first 1") || got.Class != schedule.Done || len(f.deliveries) != 1 {
				t.Fatalf("%+v, deliveries %+v\n%.6000s", got, f.deliveries, log)
			}
			if !online {
				_, answer, _ := strings.Cut(log, "The project was not prepared: setup.update failed without a network")
				if answer, _, _ = strings.Cut(answer, "\n"); !strings.Contains(answer, host.url+"/farewell") || !strings.Contains(answer, "setup.for_agent: network") {
					t.Errorf("the tool answers %q", answer)
				}
				if !strings.Contains(log, "with it 1") || !f.deliveries[0].Unproven {
					t.Errorf("%+v\n%.6000s", f.deliveries, log)
				}
				return
			}
			if !strings.Contains(log, "with it 0") || f.deliveries[0].Unproven || !got.Delivered {
				t.Errorf("%+v, deliveries %+v\n%.6000s", got, f.deliveries, log)
			}
			f.assertPublished("1", "app.js", "app.test.js", "package-lock.json", "package.json")
		})
	}
}

// TestARedCheckIsReproducedAndRepaired has a second session get a check of GitHub that failed on
// the work of the first. The agent sees the same test fail in its room, repairs the work, and the
// check of the work passes.
func TestARedCheckIsReproducedAndRepaired(t *testing.T) {
	t.Parallel()
	npm, err := exec.LookPath("npm")
	if err != nil || runtime.GOOS != "linux" {
		t.Skip("no npm, or no loopback of a command's own")
	}
	f := newSetupFixtureWith(t, map[string]string{
		"package.json": `{"scripts": {"test": "node --test"}}`,
		"app.test.js": `require('node:test')('it serves', async () => {
	const s = require('./app'); await new Promise(r => s.listen(0, '127.0.0.1', r))
	const text = await (await fetch('http://127.0.0.1:' + s.address().port)).text(); s.close()
	require('assert').equal(text, 'hello')
})
`,
	}, "mkdir -p cache",
		runs(t, `echo "module.exports = require('http').createServer((q, a) => a.end('helo'))" > app.js; echo written $?`), done,
		runs(t, "npm test; echo reproduced $?"),
		runs(t, "sed -i s/helo/hello/ app.js && npm test; echo repaired $?"))
	f.tools = filepath.Dir(npm)
	if got := f.session(t.Context()); got.Class != schedule.Done || !got.Delivered {
		t.Fatalf("the first session: %+v", got)
	}
	f.job.Feedback = []prompt.Feedback{{Kind: prompt.FeedbackCheck, Author: "unit", Text: "AssertionError: 'helo' == 'hello'"}}
	f.job.Repository.Verify = []string{"npm test"}
	got, log := f.session(t.Context()), f.readLog()
	if got.Class != schedule.Done || !got.Delivered || f.deliveries[len(f.deliveries)-1].Unproven {
		t.Fatalf("%+v, deliveries %+v\n%.4000s", got, f.deliveries, log)
	}
	for _, want := range []string{"AssertionError: 'helo' == 'hello'", "reproduced 1", "repaired 0"} {
		if !strings.Contains(log, want) {
			t.Errorf("the log lacks %q\n%.4000s", want, log)
		}
	}
	f.assertPublished("2", "app.js", "app.test.js", "package-lock.json", "package.json")
}

// TestASetupThatReachesHostsHasAServerOfItsOwn has sessions on a server that runs already, whose
// commands reach none.
func TestASetupThatReachesHostsHasAServerOfItsOwn(t *testing.T) {
	t.Parallel()
	host := newTestHost(t)
	f := newSetupFixtureWith(t, map[string]string{"ask": host.ask}, ". ./ask; ask GET dep && mkdir cache && echo prepared > cache/x")
	m := codextest.NewModel(codextest.Lane{Replies: []codextest.Reply{runs(t, ". ./ask; cp cache/x a.txt; ask GET turn; echo looked"), done}})
	t.Cleanup(m.Close)
	command := f.job.Codex.Command
	f.onServer(m)
	f.inUsersHome(m)
	f.job.Codex.Command, f.job.Denied.Paths = command, []string{f.path("home/.codex")}
	f.job.Repository.Setup.Network = codex.Network{Hosts: []string{host.name}, Private: true}
	if got := f.session(t.Context()); got.Class != schedule.Done || !got.Delivered {
		t.Fatalf("%+v", got)
	}
	f.assertPublished("1", "a.txt", "ask", "package-lock.json")
	if seen, want := host.requests(), []string{"GET /dep"}; !slices.Equal(seen, want) {
		t.Errorf("the host has seen %q, want %q", seen, want)
	}
}
