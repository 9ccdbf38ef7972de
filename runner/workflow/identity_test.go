package workflow_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAWrongValueOfAnIdentityIsAProblem(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"token_url: gateway.example/token":        `identity.token_url is "gateway.example/token": is not a plain URL; write the https address of the token endpoint`,
		"token_url: http://gateway.example/token": `identity.token_url is "http://gateway.example/token": "http://gateway.example/token" would send the token in the clear; write the https address of the token endpoint`,
		"grant: password":                         `identity.grant is "password": must be token-exchange or jwt-bearer`,
		"body: xml":                               `identity.body is "xml": must be form or json`,
		"fields: [client_id]":                     `identity.fields is a list: must be a map from fields to texts, such as {client_id: abc}`,
		"fields: {client_id: [a]}":                `identity.fields is a map: must be a map from fields to texts, such as {client_id: abc}`,
		"fields: {client_secret: s3cret}":         `identity.fields.client_secret: would put a secret into this file; an exchange needs none, and identity.command can do any other`,
		"fields: {assertion: x}":                  `identity.fields.assertion is "x": is set by the program; remove it`,
		"audience: [a]":                           `identity.audience is a list: must be text; put it in quotes if it is`,
	} {
		got := problems(t, "tracker: {kind: file}\nidentity:\n  "+line, with(nil))
		if diff := cmp.Diff([]string{"line 4: " + want}, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", line, diff)
		}
	}
}
