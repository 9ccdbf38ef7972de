package browsertest

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestWhatIsWrongWithAPageIsFound shows that the tests of pages can fail.
func TestWhatIsWrongWithAPageIsFound(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Security-Policy", "default-src 'self'")
		w.Header().Set("Content-Type", "text/html")
		w.Write([]byte(`<!doctype html><html><title>Bad</title><p style="color: #ddd">x</p><img src="/none.png"><pre>` + strings.Repeat("wide", 500) + `</pre>`))
	}))
	defer server.Close()
	page := Start(t).Open(t, server.URL, Look{Width: 390, Height: 844})
	if len(page.TooWide()) == 0 {
		t.Error("the page is not too wide")
	}
	if problems := strings.Join(page.Problems(), "\n"); !strings.Contains(problems, "Content Security Policy") {
		t.Errorf("the violation is not among the problems: %s", problems)
	}
	if found := strings.Join(page.Violations(), "\n"); !strings.Contains(found, "html-has-lang") || !strings.Contains(found, "image-alt") {
		t.Errorf("found %s", found)
	}
}
