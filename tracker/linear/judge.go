package linear

import (
	"encoding/json"
	"fmt"
	"mime"
	"net/http"
	"slices"
	"strings"
)

// envelope is any GraphQL answer.
type envelope struct {
	Data   json.RawMessage `json:"data"`
	Errors []graphqlError  `json:"errors"`
}

type graphqlError struct {
	Message    string `json:"message"`
	Extensions struct {
		Code string `json:"code"`
	} `json:"extensions"`
}

const (
	codeLimited      = "RATELIMITED"
	codeUnauthorized = "AUTHENTICATION_ERROR"
)

func (e envelope) has(code string) bool {
	return slices.ContainsFunc(e.Errors, func(one graphqlError) bool { return one.Extensions.Code == code })
}

// judge returns the data of an answer, or why it is no result: a result has data,
// and no error beside it.
func (w wire) judge(resp *http.Response, body []byte) (json.RawMessage, *refusal) {
	var answer envelope
	unreadable := json.Unmarshal(body, &answer)
	r := &refusal{after: retryAfter(resp.Header)}
	if unreadable == nil && len(answer.Errors) > 0 {
		r.body = body
	}
	switch {
	case resp.StatusCode == http.StatusTooManyRequests || answer.has(codeLimited):
		r.limited = true
		if r.after == 0 {
			r.after = untilReset(resp.Header)
		}
		r.error = fmt.Errorf("%w: HTTP %d, rate limited", errStatus, resp.StatusCode)
	case resp.StatusCode != http.StatusOK:
		r.transient = resp.StatusCode >= http.StatusInternalServerError
		r.error = fmt.Errorf("%w: HTTP %d%s: %s", errStatus, resp.StatusCode, w.says(answer), advice(resp.StatusCode, answer))
	case len(body) > maxBody:
		r.error = fmt.Errorf("%w: the answer has more than %d bytes: ask for less", errPayload, maxBody)
	case !isJSON(resp.Header):
		r.error = fmt.Errorf("%w: the answer is of type %s: %s", errPayload, w.mask.quote(resp.Header.Get("Content-Type")), otherAddress)
	case unreadable != nil:
		r.error = fmt.Errorf("%w: the answer is no complete JSON: %s", errPayload, otherAddress)
	case len(answer.Errors) > 0:
		r.error = fmt.Errorf("%w%s: %s", errGraphQL, w.says(answer), advice(resp.StatusCode, answer))
	case len(answer.Data) == 0 || string(answer.Data) == "null":
		r.error = fmt.Errorf("%w: the answer has no data: %s", errPayload, otherAddress)
	default:
		return answer.Data, nil
	}
	return nil, r
}

// says returns the words of the first error that has any, fit to follow in an
// error; "" when there are none.
func (w wire) says(answer envelope) string {
	for _, one := range answer.Errors {
		if strings.TrimSpace(one.Message) != "" {
			return ", Linear says " + w.mask.quote(one.Message)
		}
	}
	return ""
}

const (
	otherAddress = "see that tracker.endpoint is the address of Linear's GraphQL API"
	otherKey     = "see that tracker.api_key is valid and may read the project"
)

// advice returns what to do about an answer that is no result.
func advice(status int, answer envelope) string {
	switch {
	case status == http.StatusUnauthorized, status == http.StatusForbidden, answer.has(codeUnauthorized):
		return otherKey
	case status >= http.StatusInternalServerError:
		return "Linear has a problem: try again later"
	case status >= 300 && status < 400:
		return "a redirect is not followed: write its target in tracker.endpoint"
	case len(answer.Errors) > 0:
		return "try again later, unless the error says why not"
	}
	return otherAddress
}

func isJSON(header http.Header) bool {
	kind, _, err := mime.ParseMediaType(header.Get("Content-Type"))
	return err == nil && (kind == "application/json" || strings.HasSuffix(kind, "+json"))
}
