package statuspage

import (
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

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
	if !slices.Equal(u.ids(), []string{"about", "control", "history"}) || !strings.HasPrefix(u.Title, "GH-1 Fix the cart") {
		t.Fatalf("%q, %v", u.Title, u.ids())
	}
	if about := string(u.Sections[0].HTML); !strings.Contains(about, "Released") || strings.Contains(about, "Running") || strings.Contains(about, "Age") {
		t.Errorf("about the issue:\n%s", about)
	}
	if history := string(u.Sections[2].HTML); !strings.Contains(history, "completed") {
		t.Errorf("its events:\n%s", history)
	}
}

func TestAnIssueShowsTheModelOfItsSession(t *testing.T) {
	t.Parallel()
	p := sample()
	for model, shown := range map[string]bool{"": false, "model big, effort high, because of the label <hard> (codex.by_label)": true} {
		p.Sessions[0].Choice = model
		body := ask(t, &p, http.MethodGet, "/issues/GH-1").Body.String()
		if strings.Contains(body, "<dt>Model</dt>") != shown || shown && !strings.Contains(body, "<dd><bdi>model big, effort high, because of the label &lt;hard&gt; (codex.by_label)</bdi></dd>") {
			t.Errorf("with %q:\n%s", model, body)
		}
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

func TestAnIssueShowsAllItsSessions(t *testing.T) {
	t.Parallel()
	logs := t.TempDir()
	keys := make([]string, 3)
	for n := range keys {
		name := transcript.Name("GH-2", noon.Add(time.Duration(n-5)*time.Minute), n+1)
		keys[n] = strings.TrimSuffix(strings.TrimPrefix(name, "GH-2/"), ".jsonl")
		writeLog(t, filepath.Join(logs, name), said(fmt.Sprint("part ", n+1)))
	}
	writeLog(t, filepath.Join(logs, transcript.Name("GH-3", noon, 1)), said("of another issue"))
	p := sample()
	p.Logs = logs
	for query, want := range map[string]string{
		"": "part 3", "?session=" + keys[0]: "part 1", "?session=" + keys[1]: "part 2", "?session=" + keys[2]: "part 3",
		"?session=nothing": "part 3", "?session=..%2FGH-3%2F" + keys[0]: "part 3",
	} {
		page := ask(t, &p, http.MethodGet, "/issues/GH-2"+query).Body.String()
		for n := range 3 {
			part := fmt.Sprint("part ", n+1)
			link := fmt.Sprintf(`<a href="/issues/GH-2?session=%s">Session %d</a>`, keys[n], n+1)
			if n == 2 {
				link = `<a href="/issues/GH-2">Session 3</a>`
			}
			isShown := fmt.Sprintf(`<b aria-current="true">Session %d</b>`, n+1)
			if shown := part == want; strings.Contains(page, part) != shown || strings.Contains(page, isShown) != shown || strings.Contains(page, link) == shown {
				t.Errorf("%q, session %d:\n%s", query, n+1, page)
			}
		}
		if strings.Contains(page, "of another issue") {
			t.Errorf("%q shows another issue", query)
		}
	}
	doc := show(p).detailJSON(show(p).find("GH-2"), "http://localhost:4000")
	var labels []string
	for _, log := range doc.Logs.Sessions {
		labels = append(labels, log.Label+" "+log.URL)
	}
	want := []string{
		"latest http://localhost:4000/issues/GH-2", "session 2 http://localhost:4000/issues/GH-2?session=" + keys[1], "session 1 http://localhost:4000/issues/GH-2?session=" + keys[0],
	}
	if diff := cmp.Diff(want, labels); diff != "" {
		t.Error(diff)
	}
}
