package githubtest

import (
	"fmt"
	"html"
	"net/http"
	"regexp"
	"strings"
)

// picture is a file that a person has uploaded to a text.
type picture struct {
	id      string
	content []byte
	signed  int // number of the latest signed address
	expired int // number of the latest one that has expired
}

// pictures has the files that people have uploaded.
type pictures struct {
	*server
	list []*picture
}

// AddPicture uploads a file and returns its address for a text in Markdown. As in a private
// repository, that is an address for the browsers of people, which no token opens. The HTML of a
// text has an address in its place that is signed for some minutes.
func (g *pictures) AddPicture(content []byte) (address string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	id := fmt.Sprintf("0c0ffee0-0000-4000-8000-%012d", len(g.list)+1)
	g.list = append(g.list, &picture{id: id, content: content})
	return g.address + "/user-attachments/assets/" + id
}

// ExpirePictures ends all signed addresses so far.
func (g *pictures) ExpirePictures() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, p := range g.list {
		p.expired = p.signed
	}
}

// markdownPicture matches a picture in a text. Its groups are the description and the address.
var markdownPicture = regexp.MustCompile(`!\[([^\]]*)\]\(([^)\s]+)\)`)

// bodyHTML returns the HTML of a text. GitHub's has a signed address for an uploaded picture, and
// the address of a proxy for one from elsewhere. g.mu must be held.
func (g *pictures) bodyHTML(text string) string {
	rendered := markdownPicture.ReplaceAllStringFunc(html.EscapeString(text), func(s string) string {
		part := markdownPicture.FindStringSubmatch(s)
		source := fmt.Sprintf("https://camo.githubusercontent.com/0123456789abcdef/%x", part[2])
		for _, p := range g.list {
			if strings.HasSuffix(part[2], "/user-attachments/assets/"+p.id) {
				p.signed++
				source = fmt.Sprintf("%s/private-user-images/1/2-%s.png?jwt=%d&amp;x=1", g.address, p.id, p.signed)
			}
		}
		return fmt.Sprintf(`<a target="_blank" rel="noopener noreferrer" href="%s"><img width="40" src="%s" alt="%s" data-canonical-src="%s" style="max-width: 100%%;"></a>`, source, source, part[1], part[2])
	})
	return `<p dir="auto">` + rendered + "</p>"
}

// addPictures adds the hosts of uploaded files, which are one server here.
func (g *pictures) addPictures() {
	g.Handle("GET /user-attachments/assets/{id}", http.NotFoundHandler())
	g.Handle("GET /private-user-images/1/{file}", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "" {
			g.t.Errorf("the host of the pictures got a token")
		}
		g.mu.Lock()
		defer g.mu.Unlock()
		for _, p := range g.list {
			if n := atoi(r.URL.Query().Get("jwt")); r.PathValue("file") == "2-"+p.id+".png" && n > p.expired && n <= p.signed {
				_, _ = w.Write(p.content) // the client may have hung up
				return
			}
		}
		http.NotFound(w, r)
	}))
}
