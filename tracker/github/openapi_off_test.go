//go:build !openapi

package github

import (
	"net/http"
	"testing"
)

func describedExchange(testing.TB) func(*http.Request, []byte, int, http.Header, []byte) { return nil }

func TestTheFakeSpeaksAsGitHubDescribes(t *testing.T) {
	t.Skip("built without -tags openapi: the fake is not compared with GitHub's OpenAPI description")
}
