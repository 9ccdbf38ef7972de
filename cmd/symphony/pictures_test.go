package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"image"
	"image/png"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/symphony-runner/symphony/internal/codextest"
	"github.com/symphony-runner/symphony/internal/githubtest"
)

// screenshot returns a PNG of this size.
func screenshot(t testing.TB, width, height int) string {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewNRGBA(image.Rect(0, 0, width, height))); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// seen returns the sizes of the pictures in a request to the model, and the texts around them.
func seen(t testing.TB, r codextest.Request) (sizes []image.Point, text string) {
	t.Helper()
	var body struct {
		Input []struct {
			Content []struct {
				Type, Text string
				URL        string `json:"image_url"`
			}
		}
	}
	if err := json.Unmarshal(r.Body, &body); err != nil {
		t.Fatal(err)
	}
	for _, item := range body.Input {
		for _, c := range item.Content {
			text += c.Text + "\n"
			if c.Type != "input_image" {
				continue
			}
			data, ok := strings.CutPrefix(c.URL, "data:image/png;base64,")
			var content []byte
			if err := json.Unmarshal([]byte(`"`+data+`"`), &content); err != nil || !ok {
				t.Fatalf("%.50s: %v", c.URL, err)
			}
			head, err := png.DecodeConfig(bytes.NewReader(content))
			if err != nil {
				t.Fatal(err)
			}
			sizes = append(sizes, image.Pt(head.Width, head.Height))
		}
	}
	return sizes, text
}

// TestTheModelSeesTheScreenshotsOfAnIssue has the real Codex work on an issue with two
// screenshots, and goes on in the same thread.
func TestTheModelSeesTheScreenshotsOfAnIssue(t *testing.T) {
	t.Parallel()
	issue := "---\ntitle: The cart\nstate: Todo\n---\nBefore: ![the cart](shots/cart.png), after: <img alt=\"empty\" src=\"empty.png\">.\n\n![no picture](icon.svg)\n"
	p, m := realProject(t, map[string]string{"A-1": issue},
		lane("A-1", call("exec_command", map[string]string{"cmd": "cd ../../.symphony/pictures/A-1 && cat 1.png && echo REA''DABLE"}), say("It is the button."), handOver(), say("Done.")))
	if err := os.Mkdir(filepath.Join(p.dir, "issues/shots"), 0o700); err != nil {
		t.Fatal(err)
	}
	p.write("issues/shots/cart.png", screenshot(t, 40, 30))
	p.write("issues/empty.png", screenshot(t, 50, 20))
	p.write("issues/icon.svg", "<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>")
	shown := p.ok("prompt", "A-1").stdout
	r := p.ok("--once")

	requests := m.Requests()
	if len(requests) < 2 {
		t.Fatalf("the model was asked %d times:\n%s", len(requests), r.stdout)
	}
	for i, request := range requests[:2] {
		sizes, text := seen(t, request)
		if !slices.Equal(sizes, []image.Point{{40, 30}, {50, 20}}) || !strings.Contains(text, strings.TrimSpace(shown)) {
			t.Errorf("request %d shows %v with\n%s\nand the prompt was\n%s", i+1, sizes, text, shown)
		}
	}
	if body := string(requests[1].Body); !strings.Contains(body, "function_call_output") || strings.Contains(body, "READABLE") {
		t.Errorf("the agent can read the files of the pictures:\n%s", body)
	}
	const said = `
2 pictures are attached, in this order:

1. the issue: "the cart", PNG, 40 × 30
2. the issue: "empty", PNG, 50 × 20
`
	if !strings.Contains(shown, said) || !strings.Contains(shown, "- the issue, \"icon.svg\": it is not a PNG, JPEG or GIF") {
		t.Errorf("the prompt is\n%s", shown)
	}
	if !strings.Contains(r.stdout, "icon.svg") {
		t.Errorf("the report does not name the file that is no picture:\n%s", r.stdout)
	}
	logs, err := filepath.Glob(filepath.Join(p.dir, ".symphony/sessions/A-1/*"))
	for _, log := range logs {
		if strings.Contains(readText(t, log), "data:image") {
			t.Errorf("%s has the content of the pictures", log)
		}
	}
	if err != nil || len(logs) == 0 {
		t.Error("there are no logs", err)
	}
	if left, _ := filepath.Glob(filepath.Join(p.dir, ".symphony/pictures/*")); left != nil {
		t.Errorf("%v is left", left)
	}
}

// TestAModelWithoutImagesGetsNone gives the real Codex a catalog in which its model takes text
// alone.
func TestAModelWithoutImagesGetsNone(t *testing.T) {
	t.Parallel()
	p, m := realProject(t, map[string]string{"A-1": "---\ntitle: The cart\nstate: Todo\n---\n![the cart](cart.png)\n"},
		lane("A-1", handOver(), say("Done.")))
	p.write("issues/cart.png", screenshot(t, 40, 30))
	cmd := exec.Command(codextest.Path(t), "debug", "models")
	cmd.Env = append(os.Environ(), p.env...)
	catalog, err := cmd.Output()
	var models struct{ Models []map[string]any }
	if err == nil {
		err = json.Unmarshal(catalog, &models)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, model := range models.Models {
		model["input_modalities"] = []string{"text"}
	}
	p.write("catalog.json", mustText(map[string]any{"models": models.Models}))
	p.replace(" app-server", " -c model_catalog_json="+shellQuote(filepath.Join(p.dir, "catalog.json"))+" app-server")
	r := p.ok("--once")
	if len(m.Requests()) == 0 {
		t.Fatalf("the model was not asked:\n%s", r.stdout)
	}
	const left = "pictures (1): the model gpt-5.5 takes none"
	if sizes, text := seen(t, m.Requests()[0]); len(sizes) > 0 || !strings.Contains(text, "- "+left) || strings.Contains(text, "image content omitted") {
		t.Errorf("the model sees %v with\n%s", sizes, text)
	}
	if !strings.Contains(strings.Join(strings.Fields(r.stdout), " "), left) {
		t.Errorf("the report does not say so:\n%s", r.stdout)
	}
}

// TestTheModelSeesThePicturesOfAReview has people show pictures where they comment on GitHub, in a
// private repository.
func TestTheModelSeesThePicturesOfAReview(t *testing.T) {
	t.Parallel()
	s := newTalk(t)
	shown := map[string]string{}
	show := func(name string, width int) string {
		shown[name] = s.hub.AddPicture([]byte(screenshot(t, width, 1)))
		return "![" + name + "](" + shown[name] + ")"
	}
	s.hub.AddComment(1, "kim", "The issue: "+show("issue", 11))
	s.hub.AddComment(talkPull, "lee", "The work: "+show("work", 12)+" ![badge](https://badges.example.org/x.png?key=hunter2)")
	s.hub.AddComment(talkPull, "mallory", "Obey: "+show("order", 13))
	s.hub.AddReview(talkPull, githubtest.Review{By: "kim", Verdict: "CHANGES_REQUESTED", Body: "All: " + show("review", 14), Lines: []githubtest.LineComment{{Path: "cart.go", Line: 1, Body: "Here: " + show("line", 15)}}})
	prompt := s.ok("prompt", "GH-1", onBranch).stdout
	s.checkSessions(1, "a review with pictures")

	_, sent, ok := strings.Cut(s.given(), `"method":"turn/start"`)
	sent, _, _ = strings.Cut(sent, "\n")
	if n := strings.Count(sent, `"type":"localImage"`); !ok || n != 4 {
		t.Fatalf("%d pictures were sent:\n%s", n, s.given())
	}
	_, said, _ := strings.Cut(prompt, "# Pictures")
	for name, width := range map[string]int{"issue": 11, "work": 12, "review": 14, "line": 15} {
		if want := fmt.Sprintf("%q, PNG, %d × 1", name, width); !strings.Contains(said, want) {
			t.Errorf("the prompt lacks %s:\n%s", want, said)
		}
	}
	if strings.Contains(said, `"order"`) || !strings.Contains(said, "\"https://badges.example.org/x.png\": it is not kept by the tracker") {
		t.Errorf("the prompt says\n%s", said)
	}
	if log := strings.Join(s.hub.Log(), "\n"); strings.Count(log, "private-user-images") != 8 || strings.Contains(log, path.Base(shown["order"])) {
		t.Errorf("the requests are\n%s", log)
	}
	s.checkSaid("the model does not get all pictures: item", "badges.example.org/x.png\": it is not kept by the tracker")
	if strings.Contains(s.read("wire")+s.out, "jwt=") {
		t.Error("a signed address left the program")
	}
}
