package client_test

import (
	"io/fs"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/symphony-runner/symphony/internal/githubtest"
	"github.com/symphony-runner/symphony/tracker/github/client"
)

func TestTheArtifactsOfARunAreReadFromAnotherHost(t *testing.T) {
	t.Parallel()
	g, c := newPulls(t)
	g.AddArtifact(githubtest.Artifact{Run: 77, Name: "symphony-77", Files: map[string]string{"logs/GH-7/a.jsonl": "{}\n", "report.json": "{}"}})
	g.AddArtifact(githubtest.Artifact{Run: 77, Name: "other", Expired: true, Files: map[string]string{"x": "y"}})
	g.AddArtifact(githubtest.Artifact{Run: 78, Name: "symphony-78", Files: map[string]string{"x": "y"}})
	list, err := c.Artifacts.Of(t.Context(), 77)
	if err != nil || len(list) != 2 {
		t.Fatalf("%+v (%v)", list, err)
	}
	if list[0].Name != "symphony-77" || list[0].Expired || !list[1].Expired || list[0].Bytes == 0 {
		t.Errorf("%+v", list)
	}
	files, err := c.Artifacts.Read(t.Context(), list[0])
	if err != nil {
		t.Fatal(err)
	}
	if text, err := fs.ReadFile(files, "logs/GH-7/a.jsonl"); err != nil || string(text) != "{}\n" {
		t.Errorf("%q (%v)", text, err)
	}
	if _, err := c.Artifacts.Read(t.Context(), list[1]); !client.HasStatus(err, http.StatusGone) {
		t.Error(err)
	}
	if none, err := c.Artifacts.Of(t.Context(), 79); err != nil || len(none) != 0 {
		t.Errorf("%v (%v)", none, err)
	}
}

func TestAnArtifactThatIsNoneIsAnError(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		artifact githubtest.Artifact
		want     string
	}{
		"no zip":         {githubtest.Artifact{Packed: []byte("<html>")}, "cannot be unpacked"},
		"nothing":        {githubtest.Artifact{Packed: []byte{}}, "cannot be unpacked"},
		"said too large": {githubtest.Artifact{Size: 65 << 20}, "has 65 MiB, at most 64"},
		"is too large":   {githubtest.Artifact{Size: 1, Packed: make([]byte, 65<<20)}, "larger than GitHub said"},
	} {
		g, c := newPulls(t)
		test.artifact.Run = 77
		g.AddArtifact(test.artifact)
		list, err := c.Artifacts.Of(t.Context(), 77)
		if err != nil || len(list) != 1 {
			t.Fatalf("%v (%v)", list, err)
		}
		if files, err := c.Artifacts.Read(t.Context(), list[0]); err == nil || files != nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestATokenThatMayNotReadActionsIsReported(t *testing.T) {
	t.Parallel()
	g, c := newPulls(t)
	g.Deny("actions: read")
	if _, err := c.Artifacts.Of(t.Context(), 77); err == nil || !strings.Contains(err.Error(), "actions: read") {
		t.Error(err)
	}
}

func TestTheTokenOfAHostIsReadFromTheFileOfGH(t *testing.T) {
	t.Parallel()
	got := map[string]string{}
	for name, text := range map[string]string{
		"plain":      "github.com:\n    user: kim\n    oauth_token: gho_123\n    git_protocol: https\n",
		"two users":  "github.com:\n    users:\n        kim:\n            oauth_token: gho_1\n        lee: {}\n    user: kim\n    oauth_token: gho_1\n",
		"keyring":    "github.com:\n    users:\n        kim:\n    user: kim\n",
		"other host": "ghe.example.org:\n    oauth_token: gho_123\n",
		"no map":     "- x\n",
		"no YAML":    "\x00{",
		"nothing":    "",
	} {
		if token := client.TokenOfGH([]byte(text), "github.com"); token != "" {
			got[name] = token
		}
	}
	if diff := cmp.Diff(map[string]string{"plain": "gho_123", "two users": "gho_1"}, got); diff != "" {
		t.Error(diff)
	}
}
