package transcript

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"errors"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"
	"sync"
)

// CSS is the style of what [HTML] returns. It needs nothing from elsewhere, follows the
// reader's choice of light or dark, and fits any width.
//
//go:embed page.css
var CSS string

// pageHTML has the templates of a page and of an entry.
//
//go:embed page.html
var pageHTML string

var templates = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("").Funcs(template.FuncMap{"diff": diffLines}).Parse(pageHTML))
})

// HTML returns an entry as a fragment of a page, an <article> whose style is [CSS].
func HTML(e Entry) template.HTML {
	var b strings.Builder
	if err := templates().ExecuteTemplate(&b, "entry", view{e}); err != nil {
		return template.HTML(template.HTMLEscapeString(err.Error())) // a strings.Builder does not fail
	}
	return template.HTML(b.String())
}

// WritePage writes a session as a page that stands alone: it loads nothing, runs nothing,
// and its content security policy forbids both.
func WritePage(w io.Writer, title string, entries []Entry) error {
	sum := sha256.Sum256([]byte(CSS))
	views := make([]view, len(entries))
	for i, e := range entries {
		views[i] = view{e}
	}
	return templates().ExecuteTemplate(w, "page", struct {
		Title   string
		Policy  string
		CSS     template.CSS
		Entries []view
	}{
		title, "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'; base-uri 'none'; form-action 'none'",
		template.CSS(CSS), views,
	})
}

// CopyPage reads a log and writes its page. running says that the session was running when
// the reading began: a log without an outcome then goes on, and otherwise it was cut off.
func CopyPage(w io.Writer, log io.Reader, running bool, redact func(string) string) error {
	reader := &Reader{Redact: redact}
	var entries []Entry
	part := make([]byte, 64<<10)
	for {
		n, err := log.Read(part)
		entries = append(entries, reader.Feed(part[:n])...)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
	}
	if running && reader.Outcome() == nil {
		entries = append(entries, reader.Now()...)
	} else {
		entries = append(entries, reader.End()...)
	}
	s := reader.Session()
	title := "Transcript of a session"
	if s.Identifier != "" {
		title = fmt.Sprintf("%s, session %d", s.Identifier, s.Number)
	}
	return WritePage(w, title, entries)
}

// view adds the data of the templates to an entry.
type view struct{ Entry }

// IsCommand reports whether the title is a command.
func (v view) IsCommand() bool { return v.Kind == KindCommand }

// IsDiff reports whether the text is a diff.
func (v view) IsDiff() bool { return v.Kind == KindFiles }

// IsProse reports whether the text is written for people, and not the output of a program.
func (v view) IsProse() bool {
	switch v.Kind {
	case KindMessage, KindThought, KindNotice, KindOutcome, KindSession, KindTurn:
		return true
	}
	return false
}

// longText is the number of bytes from which a text is folded.
const longText = 2 << 10

// Folded reports whether the text is folded: a prompt, and any other long text that is not
// prose.
func (v view) Folded() bool {
	return v.Kind == KindPrompt || len(v.Text) > longText && !v.IsProse()
}

// Summary describes a text that is folded.
func (v view) Summary() string {
	what := "output"
	switch v.Kind {
	case KindPrompt:
		what = "prompt"
	case KindFiles:
		what = "diff"
	case KindTool:
		what = "result"
	}
	about := what + ", " + count(int64(strings.Count(v.Text, "\n")+1), "line")
	if v.Omitted > 0 {
		about += " without " + count(int64(v.Omitted), "byte") + " of the middle"
	}
	return about
}

// diffLine is a line of a diff.
type diffLine struct{ Class, Text string }

func diffLines(text string) []diffLine {
	var all []diffLine
	lines := slices.Collect(strings.Lines(text))
	isHead := func(i int) bool { // a line that was removed can begin with -- too
		return strings.HasPrefix(lines[i], "--- ") && i+1 < len(lines) && strings.HasPrefix(lines[i+1], "+++ ")
	}
	for i, line := range lines {
		class := ""
		switch {
		case isHead(i), i > 0 && isHead(i-1):
			class = "file"
		case strings.HasPrefix(line, "+"):
			class = "add"
		case strings.HasPrefix(line, "-"):
			class = "del"
		case strings.HasPrefix(line, "@@"):
			class = "hunk"
		}
		all = append(all, diffLine{class, line})
	}
	return all
}
