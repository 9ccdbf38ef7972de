package schedule_test

import (
	"fmt"
	"maps"
	"strconv"
	"strings"
	"time"

	"github.com/symphony-runner/symphony/runner/feedback"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/tracker"
)

// This file parses the lines of a scenario; TestScenarios documents their format.

// split splits a line into words; a space in quotes belongs to its word.
func split(line string) []string {
	var words []string
	var word strings.Builder
	quoted, begun := false, false
	end := func() {
		if begun {
			words = append(words, word.String())
		}
		word.Reset()
		begun = false
	}
	for _, r := range line {
		switch {
		case r == '"':
			quoted, begun = !quoted, true
		case r == '#' && !quoted && !begun:
			return words
		case r == ' ' && !quoted:
			end()
		default:
			word.WriteRune(r)
			begun = true
		}
	}
	end()
	return words
}

// settings passes each word to set as a key and its value, which may be empty.
func (s *story) settings(words []string, set func(key, value string) (known bool)) {
	s.t.Helper()
	for _, word := range words {
		key, value, _ := strings.Cut(word, "=")
		if !set(key, value) {
			s.t.Fatalf("no such setting: %q", word)
		}
	}
}

func (s *story) setPolicy(key, value string) bool {
	p := &s.policy
	switch key {
	case "active":
		p.ActiveStates = list(value)
	case "terminal":
		p.TerminalStates = list(value)
	case "labels":
		p.RequiredLabels = list(value)
	case "concurrent":
		p.MaxConcurrent = s.number(value)
	case "per-state":
		p.MaxPerState = map[string]int{}
		for _, limit := range list(value) {
			state, slots, _ := strings.Cut(limit, ":")
			p.MaxPerState[tracker.NormalState(state)] = s.number(slots)
		}
	case "batch":
		p.MaxPerTick = s.number(value)
	case "backoff":
		p.MaxBackoff = s.duration(value)
	case "stall":
		p.Stall = s.duration(value)
	case "attempts":
		p.Budget.Attempts = s.number(value)
	case "idle":
		p.Budget.IdleSessions = s.number(value)
	case "issue-tokens":
		p.Budget.TokensPerIssue = int64(s.number(value))
	case "issue-usd":
		p.Budget.USDPerIssue = schedule.MoneyOf(s.fraction(value))
	case "tick-usd":
		p.Budget.USDPerTick = schedule.MoneyOf(s.fraction(value))
	case "day-usd":
		p.Budget.USDPerDay = schedule.MoneyOf(s.fraction(value))
	case "price":
		model, usd, _ := strings.Cut(value, ":")
		p.Budget.Prices = maps.Clone(p.Budget.Prices)
		if p.Budget.Prices == nil {
			p.Budget.Prices = schedule.Prices{}
		}
		p.Budget.Prices[model] = schedule.Price{Rates: schedule.Rates{Output: s.fraction(usd)}}
	case "tick-tokens":
		p.Budget.TokensPerTick = int64(s.number(value))
	case "hands-over":
		p.HandsOver, p.HandedOver = true, value
	case "rounds":
		p.MaxRounds = s.number(value)
	case "open":
		p.MaxOpen = s.number(value)
	case "open-by-label":
		label, limit, _ := strings.Cut(value, ":")
		p.MaxOpenByLabel = map[string]int{label: s.number(limit)}
	case "hosts":
		p.Hosts = list(value)
	case "per-host":
		p.PerHost = s.number(value)
	case "check-rounds":
		p.MaxCheckRounds = s.number(value)
	case "delivers":
		p.Delivers = true
	case "day-tokens":
		p.Budget.TokensPerDay = int64(s.number(value))
	default:
		return false
	}
	return true
}

func (s *story) addIssue(words []string) {
	issue := &shownIssue{Issue: todo(len(s.issues) + 1)}
	issue.Identifier, issue.Labels = words[0], nil
	s.issues = append(s.issues, issue)
	s.editIssue(issue, words[1:])
}

func (s *story) editIssue(issue *shownIssue, words []string) {
	s.settings(words, func(key, value string) bool {
		switch key {
		case "title":
			issue.Title = value
		case "text":
			issue.Description = value
		case "state":
			issue.State = value
		case "priority":
			priority := s.number(value)
			issue.Priority = &priority
		case "created":
			issue.CreatedAt = s.now.Add(s.duration(value))
		case "labels":
			issue.Labels = list(value)
		case "blocked":
			issue.blocked = list(value)
		case "gone":
			issue.gone = true
		case "back":
			issue.gone = false
		default:
			return false
		}
		return true
	})
}

func (s *story) editTracker(name string, words []string) {
	switch name {
	case "up":
		s.down = ""
	case "down", "list-down":
		s.down = name
	default:
		s.editIssue(s.issue(name), words)
	}
}

func (s *story) addClaim(words []string) {
	s.claim(s.issue(words[0]).Issue, schedule.Phase(words[1]), func(c *schedule.Claim) {
		s.settings(words[2:], func(key, value string) bool {
			switch key {
			case "owner":
				c.Owner = schedule.Owner{Run: value, Attempt: 1}
			case "lease":
				c.Lease = s.now.Add(s.duration(value))
			case "since":
				c.Since = s.now.Add(s.duration(value))
			case "due":
				c.Due = s.now.Add(s.duration(value))
			case "attempt":
				c.Attempt = s.number(value)
			case "tokens":
				c.Tokens = int64(s.number(value))
			case "thread":
				c.Thread = value
			case "why":
				c.Why = value
			default:
				return false
			}
			return true
		})
	})
	checkShape(s.t, s.state.Claims[s.id(words[0])])
}

func (s *story) heartbeat(name string, words []string) {
	var u schedule.Update
	s.settings(words, func(key, value string) bool {
		switch key {
		case "alive":
			u.Alive = true
		case "turn":
			sign, known := map[string]schedule.TurnSign{"begins": schedule.TurnBegan, "ends": schedule.TurnEnded}[value]
			u.Turn = sign
			return known
		case "tokens":
			u.Usage.Output = int64(s.number(value))
		case "of":
			u.Usage = s.usage(value)
		case "turns":
			u.Turns = s.number(value)
		case "thread":
			u.Thread = value
		default:
			return false
		}
		return true
	})
	s.state.Heartbeat(s.id(name), u, s.now)
	s.printClaim(s.id(name))
}

// usage returns the output tokens of models, written as model:tokens,….
func (s *story) usage(models string) (u schedule.Usage) {
	for _, one := range list(models) {
		model, tokens, _ := strings.Cut(one, ":")
		n := int64(s.number(tokens))
		u.Output += n
		u.Tariffs = append(u.Tariffs, schedule.TariffUsage{Tariff: schedule.Tariff{Model: model}, Output: n})
	}
	return u
}

func (s *story) fraction(value string) float64 {
	f, err := strconv.ParseFloat(value, 64)
	if err != nil {
		s.t.Fatalf("%q is not a number", value)
	}
	return f
}

func (s *story) deliver(name string, words []string) {
	d := s.state.Deliveries[s.id(name)]
	d.Identifier, d.Pushing = name, ""
	s.settings(words, func(key, value string) bool {
		switch key {
		case "branch":
			d.Branch = value
		case "head":
			d.Head, d.At = value, s.now
		case "pushing":
			d.Pushing = value
		case "number":
			d.Number = s.number(value)
		case "url":
			d.URL = value
		default:
			return false
		}
		return true
	})
	s.state.Deliver(s.id(name), d)
	s.printDelivery(s.id(name))
}

func (s *story) exit(name string, words []string) {
	issue := s.issue(name)
	o := schedule.Outcome{Class: schedule.Class(words[0]), Turns: 1, Gone: issue.gone}
	if !issue.gone {
		o.Issue = &issue.Issue
	}
	s.settings(words[1:], func(key, value string) bool {
		switch key {
		case "tokens":
			o.Usage.Output = int64(s.number(value))
		case "of":
			o.Usage = s.usage(value)
		case "turns":
			o.Turns = s.number(value)
		case "thread":
			o.Thread = value
		case "idle":
			o.Idle = true
		case "delivered":
			o.Delivered = true
		case "cut-off":
			o.CutOff = true
		case "refused":
			o.Refused = value
		case "question":
			o.Question = value
		case "unread":
			o.Issue, o.Gone = nil, false
		case "retry":
			o.RetryAt = s.now.Add(s.duration(value))
		default:
			o.Why = key
			return value == ""
		}
		return true
	})
	next := s.state.Exit(issue.ID, o, s.policy, s.now)
	switch {
	case next.Phase != "":
		s.printClaim(issue.ID)
	case next.Clean:
		s.print(name, "released", because(next.Why), "[clean]")
	default:
		s.print(name, "released", because(next.Why))
	}
}

// say adds a comment to the conversation on an issue.
func (s *story) say(name, author, text string) {
	s.talks = true
	w := &s.issue(name).said
	c := tracker.Comment{ID: fmt.Sprint(len(w.Comments.List) + 1), Author: author, Text: text, At: s.now}
	if author == "stranger" {
		c.Distrust = "without write access"
	}
	w.Comments.List = append(w.Comments.List, c)
}

// pull changes the pull request of an issue.
func (s *story) pull(name, state string, words []string) {
	s.talks = true
	head := s.state.Deliveries[s.id(name)].Head
	p := &feedback.Pull{State: schedule.PullState(state), Head: head, Ours: head, Base: "main", Complete: true}
	s.issue(name).said.Pull = p
	s.settings(words, func(key, value string) bool {
		switch key {
		case "by":
			p.By = value
		case "fails":
			for _, check := range list(value) {
				p.Checks = append(p.Checks, feedback.Check{ID: check, Name: check, Conclusion: "failure", At: s.now})
			}
		case "conflicts":
			p.Conflicts = true
		default:
			return false
		}
		return true
	})
}

func (s *story) identifier(id tracker.ID) string {
	for _, issue := range s.issues {
		if issue.ID == id {
			return issue.Identifier
		}
	}
	return string(id)
}

func (s *story) issue(name string) *shownIssue {
	s.t.Helper()
	for _, issue := range s.issues {
		if issue.Identifier == name {
			return issue
		}
	}
	s.t.Fatalf("no such issue: %q", name)
	return nil
}

func (s *story) id(name string) tracker.ID { return s.issue(name).ID }

func (s *story) number(text string) int {
	s.t.Helper()
	n, err := strconv.Atoi(text)
	if err != nil {
		s.t.Fatal(err)
	}
	return n
}

func (s *story) duration(text string) time.Duration {
	s.t.Helper()
	d, err := time.ParseDuration(text)
	if err != nil {
		s.t.Fatal(err)
	}
	return d
}

func list(text string) []string {
	var items []string
	for item := range strings.SplitSeq(text, ",") {
		if item != "" {
			items = append(items, item)
		}
	}
	return items
}
