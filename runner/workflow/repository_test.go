package workflow_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/symphony-runner/symphony/runner/workflow"
)

// inJob is the environment of a job of the repository acme/shop on a GitHub.
func inJob(server string, variables map[string]string) workflow.Env {
	all := map[string]string{"GITHUB_SERVER_URL": server, "GITHUB_REPOSITORY": "acme/shop", "GITHUB_TOKEN": "ghs_1"}
	for name, value := range variables {
		all[name] = value
	}
	env := with(all)
	env.Actions, env.RunnerTemp = true, "/runner/_temp"
	return env
}

// settings returns the settings of a file tracker with this front matter.
func settings(t *testing.T, front string, env workflow.Env) workflow.Settings {
	t.Helper()
	return parse(t, "tracker: {kind: file}\n"+front, env).Settings
}

func TestASectionSwitchesTheRepositoryOnEvenIfItIsEmpty(t *testing.T) {
	t.Parallel()
	for _, front := range []string{"repository:", "delivery:", "repository: {}", "delivery: ~", "delivery: {kind: none}"} {
		s := settings(t, front, inJob("https://github.com", nil))
		if s.Repository == nil || s.Repository.Remote != "https://github.com/acme/shop" || !s.SandboxHooks {
			t.Errorf("%s: %+v, hooks in the sandbox: %v", front, s.Repository, s.SandboxHooks)
		}
	}
	s := settings(t, "hooks: {trusted: true}", inJob("https://github.com", nil))
	if s.Repository != nil || s.SandboxHooks || !cmp.Equal(workflow.Delivery{}, s.Delivery) {
		t.Errorf("without a section: %+v, %+v, hooks in the sandbox: %v", s.Repository, s.Delivery, s.SandboxHooks)
	}
}

func TestTheAddressOfTheRepositoryIsAURLOrAPath(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]string{
		".":                            "/repo",
		"../shop":                      "/shop",
		"./shop":                       "/repo/shop",
		"~/shop":                       "/home/ada/shop",
		"/srv/our shop.git":            "/srv/our shop.git",
		"file:///srv/shop":             "/srv/shop",
		"$FOLDER/shop":                 "/srv/shop",
		"${FOLDER}":                    "/srv",
		"$ADDRESS":                     "https://git.test/acme/shop",
		"https://GitHub.com/acme/shop": "https://GitHub.com/acme/shop",
		"http://localhost:8080/shop/":  "http://localhost:8080/shop",
	} {
		env := with(map[string]string{"FOLDER": "/srv", "ADDRESS": " https://git.test/acme/shop\n", "TOKEN": "t"})
		s := settings(t, "repository: {url: '"+url+"', token: $TOKEN}", env)
		if s.Repository.Remote != want {
			t.Errorf("%s: %s, want %s", url, s.Repository.Remote, want)
		}
	}
}

func TestAWrongAddressIsAProblemThatDoesNotShowIt(t *testing.T) {
	t.Parallel()
	const neither = "is neither a URL nor a path; write https://HOST/OWNER/NAME, or a path that begins with /, ./, ../ or ~/"
	for url, want := range map[string]string{
		"acme/shop":                         neither,
		"git@github.com:acme/hunter2":       neither,
		"''":                                neither,
		"ssh://git@github.com/hunter2":      "invalid_remote: it contains a user or a password; put the token into repository.token",
		"https://ada:hunter2@git.test/shop": "invalid_remote: it contains a user or a password; put the token into repository.token",
		"http://git.test/hunter2":           "invalid_remote: http would show the token to the network; use https",
		"'https://git.test/?hunter2'":       "invalid_remote: it is not the address of a repository; use https://HOST/OWNER/NAME",
		"$PASSWORD":                         "invalid_remote: it contains a user or a password; put the token into repository.token",
		"$NONE":                             "is missing; set the environment variable NONE",
		"./$NONE":                           "needs the environment variable NONE, which is not set or empty; set it",
		"~bob/shop":                         "begins with ~ and a name; only ~ and ~/ are expanded, write the folder itself",
		"7":                                 "must be text; put it in quotes if it is",
	} {
		env := with(map[string]string{"PASSWORD": "https://hunter2@git.test/shop"})
		got := problems(t, "tracker: {kind: file}\nrepository: {url: "+url+"}", env)
		if diff := cmp.Diff([]string{"line 3: repository.url: " + want}, got); diff != "" {
			t.Errorf("%s\n%s", url, diff)
		}
	}
}

func TestTheRepositoryOfTheJobIsTheDefaultAlsoWhereItsVariablesAreSetByHand(t *testing.T) {
	t.Parallel()
	byHand := func(variables map[string]string) workflow.Env {
		variables["GITHUB_TOKEN"] = "ghs_1"
		return with(variables)
	}
	for want, env := range map[string]workflow.Env{
		"https://github.test/acme/shop": inJob("https://github.test/", nil),
		"https://github.com/acme/shop":  byHand(map[string]string{"GITHUB_REPOSITORY": "acme/shop"}),
		"https://ghe.test/acme/shop":    byHand(map[string]string{"GITHUB_REPOSITORY": "acme/shop", "GITHUB_SERVER_URL": "https://ghe.test"}),
	} {
		s := settings(t, "repository:", env)
		if s.Repository.Remote != want || s.Repository.Token != "ghs_1" || s.Delivery.Kind != workflow.KindPullRequest {
			t.Errorf("%+v, kind %s", s.Repository, s.Delivery.Kind)
		}
	}
	for _, env := range []workflow.Env{with(nil), inJob("https://github.test", map[string]string{"GITHUB_REPOSITORY": ""})} {
		got := problems(t, "tracker: {kind: file}\ndelivery:", env)
		if diff := cmp.Diff([]string{"line 3: repository.url: is missing; write the address of the repository, such as https://github.com/OWNER/NAME, or a path, such as . for the folder of this file, or set $GITHUB_REPOSITORY to OWNER/NAME"}, got); diff != "" {
			t.Error(diff)
		}
	}
}

func TestTheTokenOfTheJobReachesNoOtherHost(t *testing.T) {
	t.Parallel()
	const server = "https://github.test"
	for name, test := range map[string]struct {
		front string
		env   workflow.Env
		token string
	}{
		"the GitHub of the job":                {"repository:", inJob(server, nil), "ghs_1"},
		"another repository there":             {"repository: {url: https://GITHUB.test/other/one}", inJob(server, nil), "ghs_1"},
		"github.com, from a job elsewhere":     {"repository: {url: https://github.com/a/b}\ndelivery: {kind: patch}", inJob(server, nil), ""},
		"github.com, outside a job":            {"repository: {url: https://github.com/a/b}", with(map[string]string{"GITHUB_TOKEN": "ghp_1"}), "ghp_1"},
		"a host that only looks like it":       {"repository: {url: https://github.com.test/a/b}\ndelivery: {kind: none}", with(map[string]string{"GITHUB_TOKEN": "ghp_1"}), ""},
		"the same host on another port":        {"repository: {url: https://github.test:8443/a/b}\ndelivery: {kind: none}", inJob(server, nil), ""},
		"another host":                         {"repository: {url: https://git.test/a/b}\ndelivery: {kind: none}", inJob(server, nil), ""},
		"another host, if it is written":       {"repository: {url: https://git.test/a/b, token: $GITHUB_TOKEN}", inJob(server, nil), "ghs_1"},
		"a token of its own":                   {"repository: {token: $SHOP}", inJob(server, map[string]string{"SHOP": " shop_1\n"}), "shop_1"},
		"a credential in the file":             {"repository: {token: shop_2}", inJob(server, nil), "shop_2"},
		"a path":                               {"repository: {url: .}", inJob(server, nil), ""},
		"a path, even if a token is written":   {"repository: {url: ., token: $GITHUB_TOKEN}", inJob(server, nil), ""},
		"a server on this machine has no need": {"repository: {url: http://localhost/a}", inJob(server, nil), ""},
	} {
		if s := settings(t, test.front, test.env); s.Repository.Token != test.token {
			t.Errorf("%s: %q, want %q", name, s.Repository.Token, test.token)
		}
	}
}

func TestAMissingTokenIsAProblemWhereItIsNeeded(t *testing.T) {
	t.Parallel()
	for front, want := range map[string]string{
		"repository: {url: https://github.com/a/b}":                                   "line 3: repository.token: is missing; set the environment variable GITHUB_TOKEN: export GITHUB_TOKEN=$(gh auth token)",
		"repository: {url: https://github.com/a/b, token: $SHOP}":                     "line 3: repository.token: is missing; set the environment variable SHOP",
		"repository: {url: https://git.test/a/b}":                                     "line 3: repository.token: is missing; write $NAME with the name of an environment variable: the token of GitHub in GITHUB_TOKEN is not sent to git.test unless it is written",
		"repository: {url: https://git.test/a/b, token: [hunter2]}":                   "line 3: repository.token: must be text: $NAME with the name of an environment variable",
		"repository: {url: https://git.test/a/b, token: ''}":                          "line 3: repository.token: is missing; write $NAME with the name of an environment variable: the token of GitHub in GITHUB_TOKEN is not sent to git.test unless it is written",
		"repository: {url: http://localhost/a, token: $SHOP}\ndelivery: {kind: none}": "line 3: repository.token: is missing; set the environment variable SHOP",
	} {
		wantProblem(t, front, want)
	}
	app := with(nil)
	app.App = true
	if s := settings(t, "repository: {url: https://github.com/a/b}", app); s.Repository.Token != "" || s.Delivery.Kind != workflow.KindPullRequest {
		t.Errorf("with an App: %+v", s.Repository)
	}
	if got := problems(t, "tracker: {kind: file}\nrepository: {url: https://github.com/a/b, token: $SHOP}", app); len(got) != 1 {
		t.Errorf("a token that is written: %v", got)
	}
	for _, kind := range []string{"patch", "none"} {
		if s := settings(t, "repository: {url: https://git.test/a/b}\ndelivery: {kind: "+kind+"}", with(nil)); s.Repository.Token != "" {
			t.Errorf("%s: %q", kind, s.Repository.Token)
		}
	}
}

func TestChildrenNeverSeeTheVariablesOfTheToken(t *testing.T) {
	t.Parallel()
	for token, want := range map[string][]string{
		"":                           {"LINEAR_API_KEY", "GITHUB_TOKEN"},
		"token: $SHOP":               {"LINEAR_API_KEY", "GITHUB_TOKEN", "SHOP"},
		"token: '${LINEAR_API_KEY}'": {"LINEAR_API_KEY", "GITHUB_TOKEN"},
	} {
		env := with(map[string]string{"GITHUB_TOKEN": "ghp_1", "SHOP": "shop_1", "LINEAR_API_KEY": "lin_1"})
		s := parse(t, "tracker: {kind: linear, project_slug: x}\nrepository: {url: https://github.com/a/b, "+token+"}", env).Settings
		if diff := cmp.Diff(want, s.SecretEnv()); diff != "" {
			t.Errorf("%s\n%s", token, diff)
		}
		if diff := cmp.Diff([]string{"lin_1", s.Repository.Token}, s.Credentials()); diff != "" {
			t.Errorf("%s\n%s", token, diff)
		}
	}
	s := parse(t, "tracker: {kind: file}", with(nil)).Settings
	if len(s.SecretEnv()) != 0 || len(s.Credentials()) != 0 {
		t.Errorf("without a repository: %q, %q", s.SecretEnv(), s.Credentials())
	}
}

func TestATokenInTheFileIsWarnedOfAndNeverShown(t *testing.T) {
	t.Parallel()
	for front, want := range map[string][]string{
		"repository: {url: https://git.test/a/b, token: hunter2}":  {"repository.token on line 4 is the credential itself: set an environment variable to it, write $NAME here, and replace the credential, which everybody who reads the file has"},
		"repository: {url: https://git.test/a/b, token: $HUNTER2}": nil,
		"repository: {url: ., token: $HUNTER2}":                    {"repository.token is not used, because repository.url is a path; remove it"},
	} {
		wf := parse(t, "tracker: {kind: file}\ndelivery: {kind: none}\n"+front, with(map[string]string{"HUNTER2": "hunter2"}))
		if diff := cmp.Diff(want, wf.Warnings); diff != "" || strings.Contains(strings.Join(wf.Warnings, ""), "hunter2") {
			t.Errorf("%s\n%s", front, diff)
		}
	}
}

func TestAWrongValueOfTheRepositoryIsAProblem(t *testing.T) {
	t.Parallel()
	for key, want := range map[string]string{
		"base: refs/heads/main":                     `repository.base is "refs/heads/main": branch "refs/heads/main": it means something else to git; choose another name`,
		"base: [main]":                              `repository.base is a list: must be text; put it in quotes if it is`,
		"base: symphony/main":                       `repository.base is "symphony/main": begins with repository.branch_prefix, "symphony/", like the branches of issues; change one of them`,
		"branch_prefix: ' '":                        `repository.branch_prefix is " ": must not be empty, because an issue named like a branch would get that branch; write for example symphony/`,
		"branch_prefix: a..b":                       `repository.branch_prefix is "a..b": cannot begin the name of a branch: branch "a..b1": git does not take "..", "@{" or a dot at the end; choose another name`,
		"branch_prefix: /":                          `repository.branch_prefix is "/": cannot begin the name of a branch: branch "/1": a part between slashes is empty, begins with a dot or ends with ".lock"; choose another name`,
		"branch_prefix: 1":                          `repository.branch_prefix is 1: must be text; put it in quotes if it is`,
		"lfs: often":                                `repository.lfs is "often": must be true or false`,
		"submodules: recursive":                     `repository.submodules is "recursive": must be true or false`,
		"paths: docs":                               `repository.paths is "docs": must be a list, such as [one, two]`,
		"paths: [docs/*]":                           `repository.paths[0] is "docs/*": path "docs/*": it is a pattern, or begins or ends with a space; write a folder from the top of the repository, for example services/api`,
		"paths: [a, ../b]":                          `repository.paths[1] is "../b": path "../b": it begins or ends with a slash, or has "." or ".." in it; write a folder from the top of the repository, for example services/api`,
		"branch_prefix: " + strings.Repeat("a", 61): `repository.branch_prefix is "` + strings.Repeat("a", 59) + `…": is longer than 60 bytes; shorten it`,
	} {
		wantProblem(t, "repository:\n  url: .\n  "+key, "line 5: "+want)
	}
}

func TestSubmodulesAreForHooksInTheSandbox(t *testing.T) {
	t.Parallel()
	const problem = "line 4: repository.submodules is true: a hook outside the sandbox whose git goes into a submodule would run what the agent left there; remove this key, or hooks.sandboxed and hooks.before_remove"
	wantProblem(t, "repository:\n  submodules: true\n  url: .\nhooks: {sandboxed: false, trusted: true}", problem)
	wantProblem(t, "repository:\n  submodules: true\n  url: .\nhooks: {before_remove: x, trusted: true}", problem)
	for front, want := range map[string]bool{
		"repository: {url: .}":                                                          false,
		"repository: {url: ., submodules: false}":                                       false,
		"repository: {url: ., submodules: true}":                                        true,
		"repository: {url: ., submodules: true}\nhooks: {before_run: x, trusted: true}": true,
	} {
		if got := settings(t, front, with(nil)).Repository; got.Submodules != want {
			t.Errorf("%s: %+v", front, got)
		}
	}
}

func TestHooksRunOutsideTheSandboxOnlyIfTheyAreTrusted(t *testing.T) {
	t.Parallel()
	const outside = "outside the sandbox, in a folder where an agent has worked, and files that it left there could act with their rights; "
	wantProblem(t, "repository: {url: .}\nhooks: {sandboxed: false}", "line 4: hooks.sandboxed is false: hooks would run "+outside+"remove the key, or write hooks.trusted: true as well if they are safe there")
	wantProblem(t, "repository: {url: .}\nhooks: {before_remove: x}", "line 4: hooks.before_remove: can only run "+outside+"remove the hook, or write hooks.trusted: true if it is safe there")
	wantProblem(t, "repository: {url: .}\nhooks: {sandboxed: nope}", `line 4: hooks.sandboxed is "nope": must be true or false`)
	wantProblem(t, "hooks: {sandboxed: true}", "line 3: hooks.sandboxed is true: hooks run in the sandbox only if the program brings the files: write the section repository, or remove the key")
	for front, sandboxed := range map[string]bool{
		"repository: {url: .}\nhooks: {before_run: x}":                   true,
		"repository: {url: .}\nhooks: {before_remove: ' '}":              true,
		"repository: {url: .}\nhooks: {trusted: true, before_remove: x}": true,
		"repository: {url: .}\nhooks: {trusted: true, sandboxed: false}": false,
		"hooks: {sandboxed: false, before_remove: x}":                    false,
	} {
		if s := settings(t, front, with(nil)); s.SandboxHooks != sandboxed {
			t.Errorf("%s: in the sandbox %v", front, s.SandboxHooks)
		}
	}
}

func TestTheExamplesOfTheReadmeAreGood(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	examples := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(string(readme), -1)
	if len(examples) == 0 {
		t.Fatal("the README has no examples")
	}
	for _, example := range examples {
		front := example[1]
		if !strings.Contains(front, "tracker:") {
			front = "tracker: {kind: file}\n" + front
		}
		wf := parse(t, front, inJob("https://github.com", map[string]string{
			"SLACK_WEBHOOK": "https://slack.example/x", "TEAMS_WEBHOOK": "https://teams.example/x", "OPS_URL": "https://ops.example/x", "OPS_KEY": "key of ops",
		}))
		wrong := wf.Settings.Repository == nil && (strings.Contains(front, "repository:") || strings.Contains(front, "delivery:"))
		if wrong || len(wf.Warnings) > 0 {
			t.Errorf("%s\n%+v\n%q", front, wf.Settings.Repository, wf.Warnings)
		}
	}
}

func TestFilesInGitLFSHaveALimitOfTheirOwn(t *testing.T) {
	t.Parallel()
	s := settings(t, "repository: {url: ., lfs: true}\ndelivery: {max_lfs_bytes: 7}", with(nil))
	if !s.Repository.LFS || !s.Delivery.Policy.LFS || s.Delivery.Policy.MaxLFS != 7 {
		t.Errorf("%+v, %+v", s.Repository, s.Delivery.Policy)
	}
	wf := parse(t, "tracker: {kind: file}\nrepository: {url: .}\ndelivery: {max_lfs_bytes: 7}", with(nil))
	if s := wf.Settings; s.Repository.LFS || s.Delivery.Policy.LFS || !slices.ContainsFunc(wf.Warnings, func(w string) bool { return strings.HasPrefix(w, "delivery.max_lfs_bytes is not used") }) {
		t.Errorf("%+v, %+v, %q", s.Repository, s.Delivery.Policy, wf.Warnings)
	}
}
