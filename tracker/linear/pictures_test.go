package linear

import (
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/symphony-runner/symphony/tracker"
)

// filePath matches the address of a file in an answer.
var filePath = regexp.MustCompile(`http://[0-9.:]+/files/[a-z0-9-]+`)

// signFiles signs the addresses of files in an answer, as Linear documents it. f.mu must be held.
func (f *fake) signFiles(answer []byte) []byte {
	f.signed++
	return filePath.ReplaceAllFunc(answer, func(address []byte) []byte {
		return fmt.Appendf(nil, "%s?signature=%d", address, f.signed)
	})
}

// serveFile serves a file to whoever has the latest signature.
func (f *fake) serveFile(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	content, ok := f.files[r.URL.Path]
	signature, _ := strconv.Atoi(r.URL.Query().Get("signature"))
	switch {
	case r.Header.Get("Authorization") != "":
		http.Error(w, "the key was sent to the host of files", http.StatusTeapot)
	case signature < 1 || signature > f.signed:
		w.WriteHeader(http.StatusUnauthorized)
	case !ok:
		http.NotFound(w, r)
	case content == "elsewhere":
		http.Redirect(w, r, "http://127.0.0.1:1/x", http.StatusFound)
	default:
		fmt.Fprint(w, content)
	}
}

func TestFilesAreReadBySignedAddresses(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	c := f.serve(t)
	at := func(name string) string { return c.cfg.Endpoint + "/files/" + name }
	f.files = map[string]string{"/files/a": "A", "/files/b": "B", "/files/c": "C", "/files/d": "long", "/files/e": "elsewhere"}
	o := f.add(tracker.Issue{Title: "Carts", State: "Todo", Description: fmt.Sprintf("![](%s) ![x](%s) ![](%s) ![](%s)", at("a"), at("d"), at("e"), at("gone"))})
	id := o["id"].(string)
	o["attachments"] = f.connection(&[]object{{"id": "1", "url": "https://github.com/acme/shop/pull/7"}, {"id": "2", "url": at("c")}})
	comment := f.say(id, object{"user": f.users[1], "body": "See <img src=\"" + at("b") + "\">"}, time.Now())["id"].(string)

	issues, err := c.IssuesByID(t.Context(), []tracker.ID{tracker.ID(id)})
	if err != nil {
		t.Fatal(err)
	}
	issue := issues[0]
	attached, err := c.Pictures.Attached(t.Context(), issue)
	if diff := cmp.Diff([]tracker.Picture{{Address: at("c")}}, attached); err != nil || diff != "" {
		t.Error(err, diff)
	}
	list := []tracker.Picture{
		{Address: at("a")}, {Comment: comment, Address: at("b")}, {Address: at("c")}, {Address: at("d")}, {Address: at("e")},
		{Address: at("gone")}, {Address: at("other")}, {Address: "https://example.org/files/a"}, {Address: "files/a"}, {Address: "https://me:x@uploads.linear.app/a"},
	}
	var got []string
	for content, err := range c.Pictures.Read(t.Context(), issue, list, 3) {
		got = append(got, strings.TrimSpace(fmt.Sprint(string(content), " ", err)))
		if err != nil && strings.Contains(err.Error(), "signature=") {
			t.Errorf("the error holds an address that is a secret: %v", err)
		}
	}
	want := []string{
		"A <nil>", "B <nil>", "C <nil>", tracker.ErrTooLarge.Error(), "the host of the file answers 302 Found",
		"the host of the file answers 404 Not Found", "the text does not show it any more",
		tracker.ErrElsewhere.Error(), tracker.ErrElsewhere.Error(), tracker.ErrElsewhere.Error(),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestAnIssueWithoutAttachmentsCostsNoRequest(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	c := f.serve(t)
	f.add(tracker.Issue{Title: "Carts", State: "Todo"})
	issues, err := c.IssuesByState(t.Context(), []string{"Todo"})
	if err != nil {
		t.Fatal(err)
	}
	before := f.counted()
	if attached, err := c.Pictures.Attached(t.Context(), issues[0]); err != nil || attached != nil || f.counted() > before {
		t.Errorf("%v, %v, %d requests", attached, err, f.counted()-before)
	}
}

func TestFilesThatAreElsewhereCostNoRequest(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	c := f.serve(t)
	for _, err := range c.Pictures.Read(t.Context(), tracker.Issue{}, []tracker.Picture{{Address: "https://example.org/a.png"}, {Comment: "1", Address: "b.png"}}, 3) {
		if !errors.Is(err, tracker.ErrElsewhere) {
			t.Error(err)
		}
	}
	if n := f.counted(); n > 0 {
		t.Errorf("%d requests", n)
	}
}

func TestLinearKeepsFilesOnAHostOfItsOwn(t *testing.T) {
	t.Parallel()
	p := pictures{&reader{cfg: Config{Endpoint: defaultEndpoint}}}
	for address, want := range map[string]string{
		"https://uploads.linear.app/a/b?signature=x#y": "https://uploads.linear.app/a/b",
		"https://UPLOADS.linear.app/a":                 "https://UPLOADS.linear.app/a",
		"http://uploads.linear.app/a":                  "",
		"https://uploads.linear.app.example.org/a":     "",
		"https://linear.app/a":                         "",
		"https://api.linear.app/a":                     "",
		"https://uploads.linear.app:8443/a":            "",
	} {
		if got := p.fileOf(address); got != want {
			t.Errorf("%s: %q", address, got)
		}
	}
}
