package delivery

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/symphony-runner/symphony/internal/redact"
)

// CheckContent adds to the verdict the consequences of the content of a change: a secret of the
// run refuses the delivery, and a text that looks like a credential has the consequence
// delivery.tokens. Secrets in the old content are not counted. The path and the target of a
// link are content too.
func (s Settings) CheckContent(v *Verdict, c Change, oldContent, newContent []byte, secrets *redact.Redactor) {
	for _, part := range []struct {
		text []byte
		name string // name of the part for the reason; empty for the content
	}{{newContent, ""}, {[]byte(c.Path), "the path"}, {[]byte(c.Target), "the target of the link"}} {
		found := secrets.Find(part.text) // known secrets first
		i := slices.IndexFunc(found, func(s redact.Secret) bool { return !bytes.Contains(oldContent, part.text[s.Start:s.End]) })
		if i < 0 {
			continue
		}
		secret := found[i]
		where := part.name
		if where == "" {
			where = fmt.Sprintf("line %d", 1+bytes.Count(part.text[:secret.Start], []byte("\n")))
		}
		s.addSecret(v, c.Path, where, secret.Known)
		return
	}
}

// addSecret adds the consequence of a secret in a change to the verdict. The reason does not
// hold the secret; a path that does is left out.
func (s Settings) addSecret(v *Verdict, path, where string, known bool) {
	shown := path
	if where == "the path" {
		shown = ""
	}
	switch {
	case known:
		v.refuseSecret(shown, where+" holds a secret of this run; remove it, also from the history of the branch")
	case s.Tokens == Allow:
	case s.Tokens == Review, s.Tokens == Draft:
		v.Draft = v.Draft || s.Tokens == Draft
		v.AddReview(path)
	default:
		v.refuseSecret(shown, where+" looks like a token or a private key; remove it, or write one that cannot be taken for a real one")
	}
}

func (v *Verdict) refuseSecret(path, reason string) {
	v.Refusals = append(v.Refusals, Refusal{Path: path, Reason: reason, Secret: true})
}
