package notify

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"net/http/httptrace"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/symphony-runner/symphony/internal/transport"
)

// maxAnswer bounds the answer of a destination, in bytes. Slack says "ok", the others less.
const maxAnswer = 64 << 10

// Failure is a message that a destination did not take, or may not have taken. It holds no part
// of the address and no text of the destination.
type Failure struct {
	Reason string // continues the name of the destination
	// InDoubt says that the message was sent and may have arrived.
	InDoubt bool
}

func (f *Failure) Error() string { return f.Reason }

// The headers of the signature.
const (
	TimestampHeader = "X-Symphony-Timestamp" // Unix seconds
	SignatureHeader = "X-Symphony-Signature" // sha256= and the signature in hexadecimal digits
)

// Sign returns the signature of a body that is sent at a time, in Unix seconds: the HMAC-SHA256
// of the time, a dot and the body.
func Sign(secret string, unix int64, body []byte) string {
	h := hmac.New(sha256.New, []byte(secret))
	h.Write(append(strconv.AppendInt(nil, unix, 10), '.'))
	h.Write(body)
	return "sha256=" + hex.EncodeToString(h.Sum(nil))
}

// Send sends a batch to a destination, once. It fails with a [*Failure]. A nil base is the
// default transport of package http.
func Send(ctx context.Context, base http.RoundTripper, d Destination, b Batch) error {
	t, err := transport.New(d.URL, "", base)
	if err != nil {
		return &Failure{Reason: "its address is not an https URL"}
	}
	t.MaxAnswer = maxAnswer
	var wrote atomic.Bool
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{WroteRequest: func(httptrace.WroteRequestInfo) { wrote.Store(true) }})
	body := Body(d.Kind, b)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, d.URL, bytes.NewReader(body))
	if err != nil {
		return &Failure{Reason: "its address is not an https URL"}
	}
	req.Header.Set("Content-Type", "application/json")
	if d.Kind == Webhook {
		now := time.Now().Unix()
		req.Header.Set(TimestampHeader, strconv.FormatInt(now, 10))
		req.Header.Set(SignatureHeader, Sign(d.Secret, now, body))
	}
	if _, err = t.Do(req); err == nil {
		return nil
	}
	failed, _ := errors.AsType[*transport.Error](err)
	switch {
	case failed == nil || failed.Kind == transport.NotSent:
		return &Failure{Reason: "the message could not be sent"}
	case failed.Kind == transport.RateLimited:
		return &Failure{Reason: "it takes no more messages now"}
	case failed.Kind == transport.Refused && failed.Answer.Status/100 == 3:
		return &Failure{Reason: "it redirects to another address, which is not followed: set the secret to that address"}
	case failed.Kind == transport.Refused:
		return &Failure{Reason: "it answers " + failed.Answer.Name() + ": see that its address is still the one of a webhook"}
	case failed.Kind == transport.Unreadable:
		return &Failure{Reason: "its answer is too long", InDoubt: true}
	case wrote.Load():
		return &Failure{Reason: "it gave no answer in time", InDoubt: true}
	}
	return &Failure{Reason: "it cannot be reached in time: check its address and the network of the runner"}
}
