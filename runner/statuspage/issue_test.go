package statuspage

import (
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/symphony-runner/symphony/runner/progress"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/runner/transcript"
)

// said returns a line of an event log with a message of the agent.
func said(text string) string {
	return fmt.Sprintf(`{"t_ms":1,"dir":"<","msg":{"method":"item/completed","params":{"item":{"type":"agentMessage","id":%q,"text":%[1]q}}}}`+"\n", text)
}

func TestAnOpenPageShowsHowTheLastSessionEndedOfAnIssueThatIsReleased(t *testing.T) {
	t.Parallel()
	p := sample()
	p.Logs = t.TempDir()
	log := filepath.Join(p.Logs, filepath.FromSlash(transcript.Name("GH-1", noon, 1)))
	p.Sessions[0].Log = log
	writeLog(t, log, said("half of it"))
	s, url := serve(t, p)
	s.every = time.Millisecond
	next := listen(t, url+"/issues/GH-1/events")
	if u := next(); len(u.Transcript.Entries) != 1 {
		t.Fatalf("while it runs: %+v", u)
	}
	writeLog(t, log, said("the rest of it"))
	p.Sessions, p.Events = nil, append(p.Events, progress.Event{At: noon, ID: "11", Identifier: "GH-1", Kind: "completed"})
	s.Show(p)
	u := next()
	if u.Transcript == nil || u.Transcript.Restart || !strings.Contains(fmt.Sprint(u.Transcript.Entries), "the rest of it") {
		t.Errorf("the transcript: %+v", u.Transcript)
	}
	if !slices.Equal(u.ids(), []string{"about", "history"}) || !strings.HasPrefix(u.Title, "GH-1 Fix the cart") {
		t.Fatalf("%q, %v", u.Title, u.ids())
	}
	if about := string(u.Sections[0].HTML); !strings.Contains(about, "Released") || strings.Contains(about, "Running") || strings.Contains(about, "Age") {
		t.Errorf("about the issue:\n%s", about)
	}
	if history := string(u.Sections[1].HTML); !strings.Contains(history, "completed") {
		t.Errorf("its events:\n%s", history)
	}
}

func TestAFormerIssueHasAPageAsLongAsThereAreEventsOrALog(t *testing.T) {
	t.Parallel()
	p := sample()
	p.Logs = t.TempDir()
	writeLog(t, filepath.Join(p.Logs, filepath.FromSlash(transcript.Name("GH-50", noon, 1))), said("all of it"))
	p.Events = append(p.Events, progress.Event{At: noon, ID: "51", Identifier: "GH-51", Kind: "completed", Text: "well"})
	p.Elsewhere = []schedule.Claim{{ID: "52", Identifier: "GH-52", Title: "Of a shard", Phase: schedule.Running, Owner: schedule.Owner{Run: "123", Shard: 3}}}
	for path, want := range map[string][]string{
		"/":             {`<a href="/issues/GH-51"><bdi>GH-51</bdi></a> <b>completed</b>`},
		"/issues/GH-50": {"Released", "all of it"},
		"/issues/gh-51": {"Released", "<bdi>GH-51</bdi>", "well"},
		"/issues/51":    {"Released", "<bdi>GH-51</bdi>", "well"},
		"/issues/GH-52": {"Running elsewhere", "Of a shard"},
	} {
		answer := ask(t, &p, http.MethodGet, path)
		for _, text := range want {
			if answer.Code != http.StatusOK || !strings.Contains(answer.Body.String(), text) {
				t.Errorf("%s: %d, without %q:\n%s", path, answer.Code, text, answer.Body)
			}
		}
	}
	if page := ask(t, &p, http.MethodGet, "/issues/GH-51").Body.String(); strings.Contains(page, "<dt>Workspace</dt>") {
		t.Errorf("a workspace that may be gone:\n%s", page)
	}
	for _, path := range []string{"/issues/GH-53", "/issues/GH-5", "/api/v1/GH-50", "/api/v1/GH-51", "/api/v1/GH-52"} {
		if answer := ask(t, &p, http.MethodGet, path); answer.Code != http.StatusNotFound {
			t.Errorf("%s: %d\n%s", path, answer.Code, answer.Body)
		}
	}
}
