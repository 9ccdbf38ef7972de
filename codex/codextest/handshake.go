package codextest

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
)

// version is the Codex whose wire the agent speaks.
const version = "0.169.0"

// decode reads params as Codex does: they must be there and of the right
// types, and what a request does not have is ignored.
func decode(params json.RawMessage, into any) *wireError {
	if params == nil {
		return missing("params")
	}
	if err := json.Unmarshal(params, into); err != nil {
		return invalid("Invalid request: %v", err)
	}
	return nil
}

func missing(field string) *wireError {
	return invalid("Invalid request: missing field `%s`", field)
}

func (a *agent) initialize(ctx context.Context, params json.RawMessage) (object, func(), *wireError) {
	var p struct {
		ClientInfo   *struct{ Name, Version string }
		Capabilities struct{ ExperimentalAPI bool }
	}
	if err := decode(params, &p); err != nil {
		return nil, nil, err
	}
	switch {
	case p.ClientInfo == nil:
		return nil, nil, missing("clientInfo")
	case p.ClientInfo.Name == "":
		return nil, nil, missing("name")
	case p.ClientInfo.Version == "":
		return nil, nil, missing("version")
	}
	a.client, a.experimental = p.ClientInfo.Name, p.Capabilities.ExperimentalAPI
	result := object{
		"userAgent": fmt.Sprintf("%s/%s (scripted; %s) unknown (%[1]s; %[4]s)",
			a.client, version, runtime.GOARCH, p.ClientInfo.Version),
		"codexHome":      a.home,
		"platformFamily": "unix",
		"platformOs":     runtime.GOOS,
	}
	return result, func() {
		a.wire.notify(ctx, "remoteControl/status/changed", object{
			"status": "disabled", "serverName": "scripted", "installationId": newID(), "environmentId": nil})
	}, nil
}

// login takes any key and keeps none: a script needs no model.
func (a *agent) login(ctx context.Context, params json.RawMessage) (object, func(), *wireError) {
	var p struct{ Type string }
	if err := decode(params, &p); err != nil {
		return nil, nil, err
	}
	if p.Type != "apiKey" {
		return nil, nil, invalid("Invalid request: unknown variant `%s`, expected `apiKey`", p.Type)
	}
	return object{"type": p.Type}, func() {
		a.wire.notify(ctx, "account/login/completed", object{
			"loginId": nil, "success": true, "error": nil, "onboardingEntrypoint": nil})
		a.wire.notify(ctx, "account/updated", object{"authMode": "apikey", "planType": nil})
	}, nil
}
