package statuspage

import (
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"html/template"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/symphony-runner/symphony/runner/report"
)

//go:embed page.html style.css
var files embed.FS

// assets is what the pages are made of.
type assets struct {
	pages  *template.Template
	policy string // Content-Security-Policy
}

var loadAssets = sync.OnceValue(func() assets {
	read := func(name string) string {
		text, _ := files.ReadFile(name) // embedded: it is there
		return string(text)
	}
	style := read("style.css")
	functions := template.FuncMap{
		"style": func() template.CSS { return template.CSS(style) },
		"count": report.Number,
		"path":  issuePath,
		"clock": func(t time.Time) string { return t.UTC().Format("15:04:05") },
	}
	return assets{
		pages: template.Must(template.New("").Funcs(functions).ParseFS(files, "*.html")),
		policy: "default-src 'none'; style-src " + hashOf(style) + "; img-src 'self'; connect-src 'self'; " +
			"base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
	}
})

// hashOf returns the source of a Content-Security-Policy that allows a text inside a page.
func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// withHeaders adds the headers that every answer has.
func withHeaders(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", loadAssets().policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		next.ServeHTTP(w, r)
	})
}

func (s *Server) servePage(w http.ResponseWriter, _ *http.Request, v *view) {
	var page strings.Builder
	if err := loadAssets().pages.ExecuteTemplate(&page, "page.html", v); err != nil {
		panic(err) // a template that does not fit its data: a test renders each
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Write([]byte(page.String())) // a reader that hangs up is no failure
}
