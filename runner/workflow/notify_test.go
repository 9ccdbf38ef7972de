package workflow_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/symphony-runner/symphony/runner/notify"
	"github.com/symphony-runner/symphony/runner/workflow"
)

const slackAddress = "https://hooks.slack.example/services/T0/B0/topSecret"

// notifying inspects a workflow with these destinations.
func notifying(destinations string) workflow.Inspection {
	variables := map[string]string{
		"LINEAR_API_KEY": "lin", "SLACK": slackAddress, "KEY": "key of the webhook", "CLEAR": "http://hooks.slack.example/topSecret",
		"PRIVATE": "https://10.0.0.7/topSecret", "INTERNAL": "https://chat.internal/topSecret", "NONSENSE": "topSecret",
	}
	return workflow.Inspect("/repo/WORKFLOW.md", []byte("---\ntracker: {kind: linear, project_slug: x}\nnotify:\n  destinations: "+destinations+"\n---\nDo it.\n"), with(variables))
}

func TestADestinationThatCannotBeUsedIsAProblem(t *testing.T) {
	t.Parallel()
	for destinations, want := range map[string]string{
		"slack":   "must be a list of at most 10 destinations",
		"[slack]": "notify.destinations[0]: must be a map",
		"[{kind: irc, url: $SLACK, events: [parked]}]":                                                 "must be webhook, slack, discord, teams",
		"[{url: $SLACK, events: [parked]}]":                                                            "notify.destinations[0].kind: is missing",
		"[{kind: slack, events: [parked]}]":                                                            "notify.destinations[0].url: is missing",
		"[{kind: slack, url: $SLACK}]":                                                                 "notify.destinations[0].events: is missing; it must be a list of parked, question",
		"[{kind: slack, url: $SLACK, events: []}]":                                                     "notify.destinations[0].events: is missing",
		"[{kind: slack, url: $SLACK, events: [parked, closed]}]":                                       "is no event; there are parked, question, delivered, merged, budget_spent, paused, run_failed, nothing_worked",
		"[{kind: slack, url: $SLACK, events: [parked], channel: ops}]":                                 "notify.destinations[0].channel: is unknown",
		"[{kind: slack, url: " + slackAddress + ", events: [parked]}]":                                 "notify.destinations[0].url: is a secret, so it must be the name of an environment variable",
		"[{kind: slack, url: $CLEAR, events: [parked]}]":                                               "must hold an https URL: the variable holds something else",
		"[{kind: slack, url: $NONSENSE, events: [parked]}]":                                            "must hold an https URL: the variable holds something else",
		"[{kind: slack, url: $SLACK, secret: $KEY, events: [parked]}]":                                 "notify.destinations[0].secret: is for the kind webhook alone",
		"[{kind: webhook, url: $SLACK, events: [parked]}]":                                             "notify.destinations[0].secret: is missing",
		"[{kind: slack, name: Ops Team, url: $SLACK, events: [parked]}]":                               "must be a word of at most 40",
		"[{kind: slack, url: $SLACK, events: [parked]}, {kind: slack, url: $SLACK, events: [merged]}]": "notify.destinations[1]: has the name slack, as another destination has",
	} {
		in := notifying(destinations)
		said := fmt.Sprint(in.Problems)
		if !strings.Contains(said, want) || strings.Contains(said, "topSecret") {
			t.Errorf("%s: %s, want %s", destinations, said, want)
		}
	}
}

func TestADestinationWithoutItsVariableIsOff(t *testing.T) {
	t.Parallel()
	for destinations, want := range map[string]string{
		"[{kind: slack, url: $UNSET, events: [parked]}]":                   "notify.destinations[0] is off: the environment variable UNSET is not set or empty",
		"[{kind: webhook, url: $SLACK, secret: $UNSET, events: [parked]}]": "notify.destinations[0] is off: the environment variable UNSET is not set or empty",
	} {
		in := notifying(destinations)
		if len(in.Problems) > 0 || !strings.Contains(strings.Join(in.Workflow.Warnings, "\n"), want) || in.Workflow.Settings.Notify.Destinations[0].URL != "" {
			t.Errorf("%s: %v, %q", destinations, in.Problems, in.Workflow.Warnings)
		}
	}
	for _, destinations := range []string{"[{kind: slack, url: $PRIVATE, events: [parked]}]", "[{kind: slack, url: $INTERNAL, events: [parked]}]"} {
		in := notifying(destinations)
		if said := strings.Join(in.Workflow.Warnings, "\n"); len(in.Problems) > 0 || !strings.Contains(said, "leads to a private network") || strings.Contains(said, "topSecret") {
			t.Errorf("%s: %v, %q", destinations, in.Problems, said)
		}
	}
}

func TestAddressesOfNoticesAreCredentials(t *testing.T) {
	t.Parallel()
	s := notifying("[{kind: webhook, name: ops, url: $SLACK, secret: '${KEY}', events: [parked, parked, merged]}]").Workflow.Settings
	for _, secret := range []string{slackAddress, "/services/T0/B0/topSecret", "key of the webhook"} {
		if !slices.Contains(s.Credentials(), secret) {
			t.Errorf("%q is not hidden", secret)
		}
	}
	for _, name := range []string{"SLACK", "KEY"} {
		if !slices.Contains(s.SecretEnv(), name) {
			t.Errorf("children see %s", name)
		}
	}
	if d := s.Notify.Destinations; len(d) != 1 || !slices.Equal(d[0].Events, []notify.Event{notify.Parked, notify.Merged}) || d[0].Wants(notify.Question) {
		t.Errorf("got %+v", d)
	}
}
