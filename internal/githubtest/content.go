package githubtest

import (
	"net/http"
	"strconv"
	"time"
)

// contentLimit is GitHub's limit on what creates content: 80 requests a minute and 500 an
// hour, whatever is left of the rate limit of all requests.
type contentLimit struct {
	on      bool
	most    int
	left    int
	wait    time.Duration
	quickly bool
	until   time.Time // no content is taken before
}

// LimitContent has the server take content, such as comments and pull requests, so many
// times only, and then none for a time, which it names in Retry-After; after that as many
// again. With quickly it refuses with the status 422, and names no time.
func (g *server) LimitContent(most int, wait time.Duration, quickly bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.content = contentLimit{on: true, most: most, left: most, wait: wait, quickly: quickly}
}

// createsContent has the requests that create content, by their patterns.
var createsContent = map[string]bool{
	"POST /issues": true, "POST /pulls": true, "POST /issues/{n}/comments": true,
	"POST /pulls/{n}/comments": true, "POST /pulls/{n}/comments/{id}/replies": true, "POST /pulls/{n}/reviews": true,
}

// refuseContent returns the answer to a request that creates content while no more is
// taken. g.mu must be held.
func (g *server) refuseContent(w http.ResponseWriter) (status int, v any, refused bool) {
	l := &g.content
	switch now := time.Now(); {
	case !l.on:
		return 0, nil, false
	case l.left > 0:
		if l.left--; l.left == 0 {
			l.until = now.Add(l.wait)
		}
		return 0, nil, false
	case !now.Before(l.until):
		l.left = l.most - 1
		if l.left == 0 {
			l.until = now.Add(l.wait)
		}
		return 0, nil, false
	case l.quickly:
		return http.StatusUnprocessableEntity, object{"message": "Validation Failed", "errors": []string{"was submitted too quickly"}}, true
	default:
		w.Header().Set("Retry-After", strconv.Itoa(int(l.until.Sub(now)/time.Second)+1))
		w.Header().Set("X-RateLimit-Remaining", "4000")
		return http.StatusForbidden, object{
			"message":           "You have exceeded a secondary rate limit and have been temporarily blocked from content creation. Please retry your request again later.",
			"documentation_url": "https://docs.github.com/rest/overview/rate-limits-for-the-rest-api#about-secondary-rate-limits",
		}, true
	}
}
