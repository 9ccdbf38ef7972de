package attempt

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
)

// services holds the services of which ROOM.md has an example, by the word that begins it: a
// pattern of a program without which it is not here, and what asks the service in place of the
// project's tests.
var services = map[string]struct{ program, ask string }{
	"Redis":      {"redis-server", "redis-cli set a 7 >/dev/null && redis-cli get a"},
	"PostgreSQL": {"/usr/lib/postgresql/*/bin/initdb", `psql -Atc "select 'seven', 3 + 4"`},
	"MariaDB":    {"mariadbd", `mariadb --no-defaults -h 127.0.0.1 -u root -Ne "select 'seven', 3 + 4"`},
}

// isInstalled reports whether a program is on the PATH, by its name or the end of its pattern.
func isInstalled(program string) bool {
	found, _ := filepath.Glob(program) // the patterns are well formed
	_, err := exec.LookPath(filepath.Base(program))
	return len(found) > 0 || err == nil
}

// TestTheServicesOfTheRoomPageWork runs each example as a hook, as a command of the agent and as
// the check of the work, with the real Codex.
func TestTheServicesOfTheRoomPageWork(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("only Linux gives each command a loopback of its own")
	}
	page, err := os.ReadFile("../workflow/ROOM.md")
	if err != nil {
		t.Fatal(err)
	}
	examples := regexp.MustCompile("(?ms)^```sh\n(# (\\w+).*?)^```$").FindAllStringSubmatch(string(page), -1)
	if len(examples) != len(services) {
		t.Errorf("the page has %d examples of %d", len(examples), len(services))
	}
	for _, example := range examples {
		text, name := example[1], example[2]
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			service, known := services[name]
			switch {
			case !known || !strings.HasSuffix(text, "npm test\n"):
				t.Fatalf("nothing asks this service:\n%s", text)
			case !isInstalled(service.program):
				t.Skip(name + " is not installed")
			case name == "PostgreSQL" && os.Geteuid() == 0:
				t.Skip(name + " does not run as the superuser")
			}
			tryService(t, text, service.ask)
		})
	}
}

// tryService runs an example of a service, with ask in place of npm.
func tryService(t *testing.T, text, ask string) {
	f := newCodexRepository(t, map[string]string{"try": text}, runs(t, "bash try && echo done > a.txt && echo the command $((40 + 2))"), done)
	f.tools = f.path("tools")
	writeFile(t, f.path("tools/npm"), "#!/bin/sh\nasked=$("+ask+" | tr -d '\\n')\necho it says $asked\ncase $asked in *7) ;; *) exit 1 ;; esac\n")
	f.check(os.Chmod(f.path("tools/npm"), 0o700))
	f.job.Repository.Hooks.AfterCreate, f.job.Repository.Verify = "bash try", []string{"bash try"}
	f.delivers()
	if log := f.readLog(); !strings.Contains(log, "the command 42") {
		t.Errorf("the service did not answer the agent's command:\n%s", log)
	}
}
