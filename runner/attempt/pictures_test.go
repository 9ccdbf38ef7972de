package attempt

import (
	"bytes"
	"context"
	"errors"
	"image"
	"image/png"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/symphony-runner/symphony/runner/prompt"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/tracker"
)

// album is a tracker's pictures: every address has one. It keeps what it was asked for.
type album struct {
	content []byte
	asked   []string
}

func newAlbum(t testing.TB) *album {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, 4, 3))); err != nil {
		t.Fatal(err)
	}
	return &album{content: b.Bytes()}
}

func (a *album) Attached(context.Context, tracker.Issue) ([]tracker.Picture, error) {
	a.asked = append(a.asked, "attached")
	return nil, nil
}

func (a *album) Read(_ context.Context, _ tracker.Issue, list []tracker.Picture, _ int) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		for _, p := range list {
			a.asked = append(a.asked, strings.TrimSpace(p.Comment+" "+p.Address))
			content, err := a.content, error(nil)
			if p.Address == "lost.png" {
				content, err = nil, errors.New("it is lost")
			}
			if !yield(content, err) {
				return
			}
		}
	}
}

// sentImages returns the names of the pictures that each turn sends.
func (f *fixture) sentImages() (all [][]string) {
	f.t.Helper()
	for _, k := range f.readEventLog() {
		m, _ := k.Msg.(map[string]any)
		if k.Dir != ">" || m["method"] != "turn/start" {
			continue
		}
		names := []string{}
		for _, input := range m["params"].(map[string]any)["input"].([]any) {
			if path, _ := input.(map[string]any)["path"].(string); path != "" {
				names = append(names, filepath.Base(path))
			}
		}
		all = append(all, names)
	}
	return all
}

func TestTheFirstTurnBringsThePicturesThatTheThreadLacks(t *testing.T) {
	t.Parallel()
	f := newFixture(t, twoParts+"\n![the cart](cart.png) ![](lost.png)\n")
	issues, pulls := newAlbum(t), newAlbum(t)
	f.job.Tracker.Pictures, f.job.PullPictures, f.job.SessionDir, f.job.MaxTurns = issues, pulls, f.path("sessions"), 2
	f.job.Feedback = []prompt.Feedback{
		{ID: "1", Kind: prompt.FeedbackComment, Author: "kim", Text: "Like ![this](kim.png)?", Comment: "C1"},
		{ID: "2", Kind: prompt.FeedbackThread, Author: "lee", Text: "Or ![that](lee.png)?", Comment: "C2", OnPull: true},
		{Kind: prompt.FeedbackCheck, Author: "lint", Text: "![no](check.png)"},
	}
	run := func(on bool, want [][]string, asked, ofPulls []string) (text string, outcome schedule.Outcome) {
		t.Helper()
		f.job.Images, f.logs = on, t.TempDir()
		issues.asked, pulls.asked = nil, nil
		outcome = f.run(t.Context())
		if diff := cmp.Diff(want, f.sentImages()); diff != "" {
			t.Errorf("sent (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff([][]string{asked, ofPulls}, [][]string{issues.asked, pulls.asked}); diff != "" {
			t.Errorf("asked (-want +got):\n%s", diff)
		}
		if left, err := os.ReadDir(filepath.Join(f.job.SessionDir, picturesDir)); len(left) > 0 {
			t.Errorf("%v is left (%v)", left, err)
		}
		for _, k := range f.readEventLog() {
			if m, _ := k.Msg.(map[string]any); k.Dir == ">" && m["method"] == "turn/start" && text == "" {
				text, _ = m["params"].(map[string]any)["input"].([]any)[0].(map[string]any)["text"].(string)
			}
		}
		return text, outcome
	}

	text, first := run(true, [][]string{{"1.png", "2.png", "3.png"}, {}}, []string{"attached", "cart.png", "lost.png", "C1 kim.png"}, []string{"C2 lee.png"})
	for _, want := range []string{
		"1. the issue: \"the cart\", PNG, 4 × 3\n2. item 1 of the feedback: \"this\", PNG, 4 × 3\n3. item 2 of the feedback: \"that\", PNG, 4 × 3\n",
		`- the issue, "lost.png": it is lost`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the prompt lacks %q:\n%s", want, text)
		}
	}
	if warned := strings.Join(first.Warnings, "\n"); !strings.Contains(warned, `the model does not get all pictures: the issue, "lost.png": it is lost`) || first.Class != schedule.Done {
		t.Errorf("%+v", first)
	}

	f.job.Thread = first.Thread
	text, resumed := run(true, [][]string{{"1.png", "2.png"}, {}}, []string{"C1 kim.png"}, []string{"C2 lee.png"})
	if strings.Contains(text, "the issue:") || len(resumed.Warnings) > 0 {
		t.Errorf("%+v\n%s", resumed, text)
	}

	f.job.Thread = ""
	if text, _ := run(false, [][]string{{}, {}}, nil, nil); strings.Contains(text, "# Pictures") {
		t.Errorf("off, the prompt is\n%s", text)
	}
}

func TestPicturesWithoutAFolderFailNoSession(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "![the cart](cart.png)\n")
	f.job.Tracker.Pictures, f.job.Images = newAlbum(t), true
	got := f.run(t.Context())
	if got.Class != schedule.Done || len(got.Warnings) != 1 || !strings.Contains(got.Warnings[0], "the model gets no pictures: there is no folder") || strings.Contains(f.readLog(), "# Pictures") {
		t.Errorf("%+v\n%s", got, f.readLog())
	}
}

func TestThePromptKeepsItsLengthWithPictures(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "![the cart](cart.png)\n")
	f.job.Tracker.Pictures, f.job.Images, f.job.SessionDir = newAlbum(t), true, f.path("sessions")
	f.job.Prompt = "{{ issue.description }}" + strings.Repeat("x", 1<<20-60)
	got := f.run(t.Context())
	if got.Class != schedule.Done || len(got.Warnings) != 1 || !strings.Contains(got.Warnings[0], "there is no room to name them") {
		t.Errorf("%+v", got)
	}
	if shown, err := FirstPrompt(t.Context(), f.job); err != nil || !prompt.Fits(shown) || !strings.HasSuffix(shown, "xx") {
		t.Error(len(shown), err)
	}
}
