package statuspage

import (
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"html/template"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/symphony-runner/symphony/internal/text"
	"github.com/symphony-runner/symphony/runner/transcript"
)

//go:embed page.html issue.html style.css live.js icon.svg
var files embed.FS

// assets holds the parts of the pages.
type assets struct {
	pages  *template.Template
	build  string // of the style and the script
	policy string // Content-Security-Policy
	icon   []byte
}

// loadAssets reads the files of the pages once, for the first request.
var loadAssets = sync.OnceValue(func() assets {
	read := func(name string) string {
		text, _ := files.ReadFile(name) // embedded: it is there
		return string(text)
	}
	style, script := read("style.css")+transcript.CSS, read("live.js")
	build := hashOf(style + script)
	functions := template.FuncMap{
		"style":    func() template.CSS { return template.CSS(style) },
		"script":   func() template.JS { return template.JS(script) },
		"build":    func() string { return build },
		"count":    text.Number,
		"length":   length,
		"duration": text.Duration,
		"plural":   text.Count,
		"place":    func(n int) int { return n + 1 },
		"at":       func(as string, t time.Time) timeAs { return timeAs{t, as} },
		"iso":      func(t time.Time) string { return t.UTC().Format(time.RFC3339) },
		"clock":    clock,
	}
	return assets{
		build: build,
		pages: template.Must(template.New("").Funcs(functions).ParseFS(files, "*.html")),
		policy: "default-src 'none'; script-src '" + hashOf(script) + "'; style-src '" + hashOf(style) + "'; img-src 'self'; connect-src 'self'; " +
			"base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
		icon: []byte(read("icon.svg")),
	}
})

// timeAs is a time and the form in which the script shows it: an age, how long ago it was,
// or how soon it will be.
type timeAs struct {
	At time.Time
	As string
}

// hashOf returns the name by which a Content-Security-Policy allows a text.
func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}

// clock returns a time in UTC for readers without a script. It depends on the time alone,
// so that a section that says the same is the same.
func clock(t time.Time) string { return t.UTC().Format("Jan 2 15:04:05") }

// length returns the length of a window of rate limits, in whole days or hours if it can.
func length(d time.Duration) string {
	switch day := 24 * time.Hour; {
	case d%day == 0:
		return text.Count(int(d/day), "day")
	case d%time.Hour == 0:
		return text.Count(int(d/time.Hour), "hour")
	}
	return text.Duration(d)
}

func withHeaders(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", loadAssets().policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		if !isOwnVisit(r) {
			h.Set("Cross-Origin-Opener-Policy", "same-origin")
		}
		next.ServeHTTP(w, r)
	})
}

// isOwnVisit reports whether a person typed the address, or followed a link of these pages.
// Any other visit may come from a page that opened the window and keeps a hold of it, such as
// one that an agent serves on another port of this machine. That window is taken away from
// who opened it, for which a browser starts another process: the page then paints later.
func isOwnVisit(r *http.Request) bool {
	from := r.Header.Get("Sec-Fetch-Site")
	return from == "none" || from == "same-origin"
}

// page holds the fields that every page has.
type page struct {
	Title string
	Where string // the workflow and the tracker
	Live  string // the path of the updates; empty for a page without
}

// section is a part of a page that is replaced when it changes.
type section struct {
	ID   string        `json:"id"`
	HTML template.HTML `json:"html"`
}

func sectionsOf(data any, names ...string) []section {
	var all []section
	for _, name := range names {
		all = append(all, section{name, template.HTML(render(name, data))})
	}
	return all
}

// render executes a template with data. It does not fail: a test renders each template.
func render(name string, data any) string {
	var b strings.Builder
	if err := loadAssets().pages.ExecuteTemplate(&b, name, data); err != nil {
		return template.HTMLEscapeString(err.Error())
	}
	return b.String()
}

func writePage(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	w.Write([]byte(text)) // a reader that hangs up is not a failure
}

// overview is the page of the whole run, or of one of its lists. It is made once for each
// progress.
type overview struct {
	page
	Sections []section
}

// runPage is a page of the run.
type runPage struct {
	sections []string
	list     func(*view) []*issue // that it shows in parts; nil for none
}

// runPages holds the pages of the run by path.
var runPages = map[string]runPage{
	"/":          {[]string{"health", "running", "parked", "waiting", "queue", "elsewhere", "delivered", "events"}, nil},
	"/running":   {[]string{"running"}, func(v *view) []*issue { return v.Running }},
	"/parked":    {[]string{"parked"}, func(v *view) []*issue { return v.Parked }},
	"/waiting":   {[]string{"waiting"}, func(v *view) []*issue { return v.Waiting }},
	"/delivered": {[]string{"delivered"}, func(v *view) []*issue { return v.Delivered }},
}

// parts returns the number of parts that the list of a page has now, at least 1.
func (p runPage) parts(v *view) int {
	if p.list == nil {
		return 1
	}
	return partsOf(p.list(v))
}

func overviewOf(v *view, path string, part int) *overview {
	return &overview{
		page:     page{Title: v.title(), Where: v.where(), Live: partPath(strings.TrimSuffix(path, "/")+"/events", part)},
		Sections: sectionsOf(shownView{v, path, part}, runPages[path].sections...),
	}
}

// partOf returns the part of a list that a request asks for: the first one unless it says
// otherwise.
func partOf(r *http.Request) int {
	part, err := strconv.Atoi(r.URL.Query().Get("page"))
	if err != nil {
		return 1
	}
	return max(part, 1)
}

func (s *Server) pageOf(path string) http.HandlerFunc {
	return s.shown(func(w http.ResponseWriter, r *http.Request, snap *snapshot) {
		writePage(w, http.StatusOK, render("page", snap.overview(path, partOf(r))))
	})
}

func (s *Server) serveIcon(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "image/svg+xml")
	w.Write(loadAssets().icon)
}

func (v *view) where() string {
	if v.Tracker == "" {
		return v.Workflow
	}
	return v.Workflow + " · " + v.Tracker
}

// title returns the title of the page of the run, for people who see only the tab.
func (v *view) title() string {
	text := text.Count(len(v.Running), "session") + " · Symphony"
	if n := len(v.Parked); n > 0 {
		text = strconv.Itoa(n) + " parked · " + text
	}
	if len(v.Trouble) > 0 || v.isPaused() {
		text = "Trouble · " + text
	}
	return text
}
