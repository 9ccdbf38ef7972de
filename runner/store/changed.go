package store

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/tracker"
)

// materiallyDiffers reports whether r differs from old in anything worth a
// commit: what another run or the next one must know. What changes all the time
// while a session runs does not count: its tokens, turns and heartbeats, and the
// agent's rate limits. Each commit holds their values at that time. A past tick
// counts: it is added only when a tick that did something ends.
func (r record) materiallyDiffers(old record) bool {
	return !reflect.DeepEqual(r.withoutVolatile(), old.withoutVolatile())
}

// withoutVolatile returns the record without the fields that do not count for
// materiallyDiffers.
func (r record) withoutVolatile() record {
	r.Generation, r.RateLimits = 0, nil
	r.Claims = slices.Clone(r.Claims)
	for i := range r.Claims {
		c := &r.Claims[i]
		c.Heard, c.TurnSince, c.Turns, c.Live, c.Tokens = time.Time{}, time.Time{}, 0, usage{}, 0
	}
	days := []day{}
	for _, d := range r.Days {
		d.Tokens = usage{}
		if d != (day{Date: d.Date}) {
			days = append(days, d)
		}
	}
	r.Days = days
	return r
}

// maxNamedIssues is how many issues a commit message names for each verb.
const maxNamedIssues = 5

// commitMessage describes the change from one state to another, such as
// "Claim ABC-1, ABC-2; release ABC-3".
func commitMessage(old, new *schedule.State) string {
	named := map[string][]string{}
	ids := maps.Clone(old.Claims)
	maps.Copy(ids, new.Claims)
	for _, id := range slices.Sorted(maps.Keys(ids)) {
		if verb := claimVerb(old, new, id); verb != "" {
			named[verb] = append(named[verb], plainName(ids[id].Identifier, id))
		}
	}
	for _, id := range slices.Sorted(maps.Keys(new.Deliveries)) {
		if verb := deliveryVerb(old.Deliveries[id], new.Deliveries[id]); verb != "" {
			named[verb] = append(named[verb], plainName(new.Deliveries[id].Identifier, id))
		}
	}
	spoken := map[tracker.ID]schedule.Conversation{}
	maps.Copy(spoken, old.Conversations)
	maps.Copy(spoken, new.Conversations)
	for _, id := range slices.Sorted(maps.Keys(spoken)) {
		if verb := conversationVerb(old, new, id); verb != "" {
			named[verb] = append(named[verb], plainName(cmp.Or(ids[id].Identifier, new.Deliveries[id].Identifier, old.Deliveries[id].Identifier), id))
		}
	}
	var parts []string
	for _, verb := range []string{"claim", "deliver", "refuse", "stop", "retry", "park", "release", "renew", "update", "hear", "forget"} {
		if names := named[verb]; len(names) > maxNamedIssues {
			parts = append(parts, fmt.Sprintf("%s %s and %d more", verb, strings.Join(names[:maxNamedIssues], ", "), len(names)-maxNamedIssues))
		} else if len(names) > 0 {
			parts = append(parts, verb+" "+strings.Join(names, ", "))
		}
	}
	switch {
	case new.Pause.Why == "" && old.Pause.Why != "":
		parts = append(parts, "resume")
	case new.Pause != old.Pause:
		parts = append(parts, "pause")
	}
	if len(parts) == 0 && !slices.Equal(old.History, new.History) {
		parts = []string{"note the end of a tick"}
	} else if len(parts) == 0 {
		parts = []string{"update the totals"}
	}
	text := []rune(strings.Join(parts, "; "))
	text[0] = unicode.ToUpper(text[0])
	return string(text)
}

// claimVerb returns the verb for what happened to a claim, "" if it is unchanged.
func claimVerb(old, new *schedule.State, id tracker.ID) string {
	was, had := old.Claims[id]
	is, has := new.Claims[id]
	switch {
	case !had && !has:
		return ""
	case !has:
		return "release"
	case is.Phase == schedule.Running && (!had || was.Phase != is.Phase || was.Owner != is.Owner || was.Sessions != is.Sessions):
		return "claim"
	case !had || was.Phase != is.Phase || !was.Due.Equal(is.Due):
		switch is.Phase {
		case schedule.Stopping:
			return "stop"
		case schedule.Parked:
			return "park"
		}
		return "retry"
	case !was.Lease.Equal(is.Lease):
		return "renew"
	case is != was:
		return "update"
	}
	return ""
}

// deliveryVerb returns the verb for what happened to a delivery, "" if it is unchanged.
func deliveryVerb(was, is schedule.Delivery) string {
	switch {
	case is == was:
		return ""
	case is.Refused != "" && is.Refused != was.Refused:
		return "refuse"
	}
	return "deliver"
}

// conversationVerb returns the verb for what happened to a conversation, "" if it is
// unchanged, or if its claim or its delivery says so.
func conversationVerb(old, new *schedule.State, id tracker.ID) string {
	was, had := old.Conversations[id]
	is, has := new.Conversations[id]
	if old.Deliveries[id].Head != new.Deliveries[id].Head {
		is.Checks = was.Checks // a push clears them
	}
	switch {
	case reflect.DeepEqual(was, is), claimVerb(old, new, id) != "":
		return ""
	case had && !has:
		return "forget"
	}
	return "hear"
}

// plainName returns a short name of an issue in which GitHub finds no reference: each
// commit would otherwise show up in the issue, or notify somebody.
func plainName(identifier string, id tracker.ID) string {
	plain := strings.NewReplacer("#", " ", "@", " ", "GH-", "GH ", "gh-", "gh ", "Gh-", "Gh ", "gH-", "gH ", "://", " ")
	return strings.TrimSpace(plain.Replace(oneLine(cmp.Or(identifier, string(id)), 40)))
}
