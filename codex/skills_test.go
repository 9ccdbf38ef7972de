package codex

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
)

func TestAPromptNamesSkillsAndNotVariables(t *testing.T) {
	t.Parallel()
	for prompt, want := range map[string][]string{
		"Use $deploy.": {"deploy"},
		"($review-code), **$a1** and \"$team:release\"!": {"a1", "review-code", "team:release"},
		"$twice and $twice":                               {"twice"},
		"In $HOME, $GITHUB_TOKEN, ${name}, $file_name":    nil,
		"It costs $5, or $x; $$deploy, a$deploy, $":       nil,
		"Run `$deploy now` and `echo $file`":              nil,
		"```sh\nfor name in $list; do\n```\nthen $deploy": {"deploy"},
		"~~~\n$deploy\n~~~\n":                             nil,
		"{{ issue.title | append: '$' }}":                 nil,
		"$deploy/now $deploy=1 $(deploy) $Deploy":         nil,
		"no skill at all":                                 nil,
	} {
		if diff := cmp.Diff(want, skillMentions(prompt)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", prompt, diff)
		}
	}
}

func TestAMissingSkillIsAWarning(t *testing.T) {
	t.Parallel()
	const list = `{"data":[{"cwd":"/w","errors":[],"skills":[
		{"name":"review","enabled":true},{"name":"old","enabled":false},{"name":"deploy"},{"name":"review","enabled":true}]}]}`
	lines := func(text string) string { return strings.ReplaceAll(text, "\n", "") }
	for name, test := range map[string]struct {
		prompt string
		list   func(*fakeServer)
		want   []string // what the warning says; nil is none
	}{
		"all are there":     {"$review, then $deploy", func(p *fakeServer) { p.reply(p.expect("skills/list"), lines(list)) }, nil},
		"one is not":        {"$review, then $release", func(p *fakeServer) { p.reply(p.expect("skills/list"), lines(list)) }, []string{"$release:", "it has deploy, review"}},
		"one is off":        {"$old", func(p *fakeServer) { p.reply(p.expect("skills/list"), lines(list)) }, []string{"$old:"}},
		"there are none":    {"$any $thing", func(p *fakeServer) { p.reply(p.expect("skills/list"), `{"data":[{"skills":[]}]}`) }, []string{"$any, $thing:", "it has none"}},
		"none is named":     {"Please.", func(*fakeServer) {}, nil},
		"an older server":   {"$any", func(p *fakeServer) { p.unknown("skills/list") }, nil},
		"of another shape":  {"$any", func(p *fakeServer) { p.reply(p.expect("skills/list"), `{"skills":["any"]}`) }, nil},
		"not even a result": {"$any", func(p *fakeServer) { p.reply(p.expect("skills/list"), `[7]`) }, nil},
	} {
		j := &eventLog{}
		_, err := Preflight(t.Context(), dial(t, func(p *fakeServer) {
			p.hello()
			p.reply(p.expect("account/read"), `{"account":null,"requiresOpenaiAuth":false}`)
			test.list(p)
			p.reply(p.expect("command/exec"), `{"exitCode":0}`)
			p.judge("", "")
		}), Options{Prompt: test.prompt, Cwd: "/w", Events: j.add})
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if got := j.count(Warning); got != min(1, len(test.want)) {
			t.Errorf("%s: %d warnings", name, got)
		}
		for _, words := range test.want {
			if !slices.ContainsFunc(j.all(), func(e Event) bool { return e.Kind == Warning && strings.Contains(e.Summary, words) }) {
				t.Errorf("%s: no warning says %q: %+v", name, words, j.all())
			}
		}
	}
}

func TestASkillListThatNeverComesPreventsNoTurn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, j := begin(t, Options{Prompt: "$any"}, func(p *fakeServer) {
			p.handshake()
			p.reply(p.expect("account/read"), `{"requiresOpenaiAuth":false}`)
			p.expect("skills/list")
			p.reply(p.expect("command/exec"), `{"exitCode":0}`)
			p.drain()
		})
		if err := s.Check(t.Context()); err != nil || j.count(Warning) != 0 {
			t.Errorf("%v, %+v", err, j.all())
		}
	})
}

func TestACheckThatFailsIsAFailureToStart(t *testing.T) {
	t.Parallel()
	s, j := begin(t, Options{}, func(p *fakeServer) {
		p.handshake()
		p.reply(p.expect("account/read"), `{"account":null,"requiresOpenaiAuth":true}`)
		p.drain()
	})
	if err := s.Check(t.Context()); !errors.Is(err, ErrNotLoggedIn) || j.count(StartupFailed) != 1 {
		t.Errorf("%v, %+v", err, j.all())
	}
}
