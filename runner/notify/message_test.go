package notify_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/symphony-runner/symphony/runner/notify"
)

// hostile is a text that tries to be obeyed by each service: mentions, links, markup, commands,
// hidden characters, and signs that end a string or a link.
const hostile = "@everyone <!channel> <@U123> <@&55> <#9> <t:1> <at>all</at> [click](https://evil.example/x) <https://evil.example|bank> " +
	"**bold** _it_ ~no~ `code` ||spoiler|| evil.com www.evil.example \u202egnp.exe \u2066x\u2069 &lt;!here&gt; :fire: {{DATE()}} \"}],\n/deploy now\n!rollback\n# heading\n> quote\n- list"

func hostileNotice(e notify.Event) notify.Notice {
	return notify.Notice{
		Event: e, Issue: "GH-7<!here>@kim", Title: hostile, IssueURL: "https://github.com/acme/shop/issues/7?a=1&b=(2)|<x>", Why: hostile, Said: hostile,
	}
}

// batches returns messages of all sizes: of one event each, and of too much of everything.
func batches() map[string]notify.Batch {
	all := map[string]notify.Batch{"empty": {From: "acme/shop"}}
	for _, e := range notify.Events() {
		all[string(e)] = notify.Batch{From: "acme/shop", Notices: []notify.Notice{hostileNotice(e)}}
	}
	for name, unit := range map[string]string{"letters": "x", "wide": "\U0001f525", "signs": "*", "mentions": "@", "angles": "<"} {
		for _, n := range []int{1, 3, 10, 40} {
			long := strings.Repeat(unit, 20_000)
			b := notify.Batch{From: long}
			for range n {
				b.Notices = append(b.Notices, notify.Notice{Event: notify.Question, Issue: long, Title: long, IssueURL: "https://example.org/" + strings.Repeat("y", 900), Why: long, Said: long})
			}
			all[fmt.Sprintf("%d of %s", n, name)] = b
		}
	}
	return all
}

func body(t *testing.T, k notify.Kind, b notify.Batch) (text []byte, v map[string]any) {
	t.Helper()
	text = notify.Body(k, b)
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return text, v
}

// units counts as the services do.
func units(v any) int { s, _ := v.(string); return len(utf16.Encode([]rune(s))) }

// only reports keys that a format does not have.
func only(t *testing.T, what string, v map[string]any, keys ...string) {
	t.Helper()
	for key := range v {
		if !strings.Contains(" "+strings.Join(keys, " ")+" ", " "+key+" ") {
			t.Errorf("%s has the key %q", what, key)
		}
	}
}

// The bounds are those of Slack's reference: blocks of a message, section-block, header-block,
// context-block and text-object of https://docs.slack.dev/reference/block-kit.
func TestMessagesOfSlackKeepToItsFormat(t *testing.T) {
	t.Parallel()
	for name, b := range batches() {
		_, v := body(t, notify.Slack, b)
		only(t, name, v, "text", "blocks")
		blocks := v["blocks"].([]any)
		if len(blocks) > 50 || units(v["text"]) > 4000 {
			t.Errorf("%s: %d blocks, a text of %d", name, len(blocks), units(v["text"]))
		}
		for _, raw := range blocks {
			block := raw.(map[string]any)
			var texts []any
			switch block["type"] {
			case "section":
				only(t, name, block, "type", "text")
				texts = []any{block["text"]}
			case "context":
				only(t, name, block, "type", "elements")
				texts = block["elements"].([]any)
			default:
				t.Errorf("%s: a block of the type %v", name, block["type"])
			}
			for _, raw := range texts {
				text := raw.(map[string]any)
				if n := units(text["text"]); n < 1 || n > 3000 {
					t.Errorf("%s: a text of %d characters", name, n)
				}
				switch text["type"] {
				case "plain_text":
					only(t, name, text, "type", "text", "emoji")
				case "mrkdwn":
					only(t, name, text, "type", "text", "verbatim")
					if text["verbatim"] != true {
						t.Errorf("%s: Slack looks for links in %v", name, text)
					}
				}
			}
		}
	}
}

// The bounds are those of Discord's reference: Execute Webhook, and Embed Limits of the message.
func TestMessagesOfDiscordKeepToItsFormat(t *testing.T) {
	t.Parallel()
	for name, b := range batches() {
		text, v := body(t, notify.Discord, b)
		only(t, name, v, "content", "embeds", "allowed_mentions")
		if !strings.Contains(string(text), `"allowed_mentions":{"parse":[]}`) {
			t.Errorf("%s: mentions are allowed", name)
		}
		embeds, total := v["embeds"].([]any), 0
		if units(v["content"]) > 2000 || len(embeds) > 10 {
			t.Errorf("%s: content of %d, %d embeds", name, units(v["content"]), len(embeds))
		}
		for _, raw := range embeds {
			e := raw.(map[string]any)
			only(t, name, e, "title", "url", "description", "fields")
			total += units(e["title"]) + units(e["description"])
			if units(e["title"]) > 256 || units(e["description"]) > 4096 {
				t.Errorf("%s: a title of %d, a description of %d", name, units(e["title"]), units(e["description"]))
			}
			fields, _ := e["fields"].([]any)
			for _, raw := range fields {
				f := raw.(map[string]any)
				only(t, name, f, "name", "value")
				total += units(f["name"]) + units(f["value"])
				if n := units(f["value"]); n < 1 || n > 1024 {
					t.Errorf("%s: a field of %d", name, n)
				}
			}
		}
		if total > 6000 {
			t.Errorf("%s: embeds of %d characters", name, total)
		}
	}
}

// The names are those of the schema of Adaptive Cards 1.5, the bound is that of Teams.
func TestMessagesOfTeamsKeepToItsFormat(t *testing.T) {
	t.Parallel()
	for name, b := range batches() {
		text, v := body(t, notify.Teams, b)
		if len(text) > 28<<10 {
			t.Errorf("%s: %d bytes", name, len(text))
		}
		only(t, name, v, "type", "attachments")
		attachment := v["attachments"].([]any)[0].(map[string]any)
		card := attachment["content"].(map[string]any)
		if v["type"] != "message" || attachment["contentType"] != "application/vnd.microsoft.card.adaptive" || card["type"] != "AdaptiveCard" || card["version"] != "1.2" {
			t.Errorf("%s: %s", name, text)
		}
		for _, raw := range card["body"].([]any) {
			block := raw.(map[string]any)
			only(t, name, block, "type", "inlines")
			for _, raw := range block["inlines"].([]any) {
				run := raw.(map[string]any)
				only(t, name, run, "type", "text", "weight", "isSubtle", "selectAction")
				if block["type"] != "RichTextBlock" || run["type"] != "TextRun" || run["text"] == "" {
					t.Errorf("%s: %v", name, block)
				}
			}
		}
	}
}

func TestNothingFromOutsideIsObeyedInAMessage(t *testing.T) {
	t.Parallel()
	for _, kind := range notify.Kinds() {
		for _, e := range notify.Events() {
			_, v := body(t, kind, notify.Batch{From: hostile, Notices: []notify.Notice{hostileNotice(e)}})
			texts(v, func(key, s string) {
				if strings.HasSuffix(key, "url") || key == "$schema" || key == "contentType" {
					if strings.ContainsAny(s, "<>|() ") {
						t.Errorf("%s: the link %q ends early", kind, s)
					}
					return
				}
				own := slackLink.ReplaceAllString(s, "")
				for what, bad := range obeyed {
					if found := bad.FindString(own); found != "" {
						t.Errorf("%s, %s: %s: %q in %q", kind, e, what, found, s)
					}
				}
			})
			if kind == notify.Discord {
				texts(v, func(key, s string) {
					if found := discordMarkup.FindString(s); found != "" && (key == "title" || key == "value" || key == "description" || key == "content") {
						t.Errorf("%s formats %q in %q", kind, found, s)
					}
				})
			}
		}
	}
}

var (
	slackLink     = regexp.MustCompile(`<https://github\.com/[^|<> ]*\|open>`)
	discordMarkup = regexp.MustCompile("(?m)(?:^|[^\\\\])[*_~`|>\\[\\]()<]")
	// obeyed matches what at least one of the services, or a bot in it, obeys.
	obeyed = map[string]*regexp.Regexp{
		"a mention":        regexp.MustCompile(`@[A-Za-z0-9!&]|<[!@#a-zA-Z]`),
		"a link":           regexp.MustCompile(`(?i)://[a-z]|\bwww\.[a-z]|evil\.(com|example)`),
		"a command":        regexp.MustCompile(`(?m)^[/!][a-z]`),
		"hidden direction": regexp.MustCompile(`[\x{202a}-\x{202e}\x{2066}-\x{2069}]`),
	}
)

// texts calls f for every text in a document, with its key.
func texts(v any, f func(key, s string)) { textsOf("", v, f) }

func textsOf(key string, v any, f func(key, s string)) {
	switch v := v.(type) {
	case string:
		f(key, v)
	case map[string]any:
		for key, inner := range v {
			textsOf(key, inner, f)
		}
	case []any:
		for _, inner := range v {
			textsOf(key, inner, f)
		}
	}
}

func TestTheTextOfAnAgentIsAFieldOfItsOwn(t *testing.T) {
	t.Parallel()
	b := notify.Batch{From: "acme/shop", Notices: []notify.Notice{{Event: notify.Question, Issue: "GH-7", Title: "Read the table", IssueURL: "https://github.com/acme/shop/issues/7", Said: "Which table?"}}}
	for kind, want := range map[notify.Kind]string{
		notify.Webhook: `"agent_says":"Which table?"`,
		notify.Slack:   `{"text":{"emoji":false,"text":"The agent says:\nWhich table?","type":"plain_text"},"type":"section"}`,
		notify.Discord: `"fields":[{"name":"The agent says","value":"Which table?"}]`,
		notify.Teams:   `{"text":"Which table?","type":"TextRun"}`,
	} {
		text, _ := body(t, kind, b)
		if !strings.Contains(strings.ReplaceAll(string(text), `\n`, "\\n"), want) {
			t.Errorf("%s: %s", kind, text)
		}
	}
	text, _ := body(t, notify.Webhook, b)
	if want := `{"notices":[{"event":"question","text":"The agent asks a question about GH-7","issue_identifier":"GH-7","title":"Read the table","issue_url":"https://github.com/acme/shop/issues/7","agent_says":"Which table?"}],"omitted":0,"project":"acme/shop","version":1}`; string(text) != want {
		t.Errorf("got  %s\nwant %s", text, want)
	}
}
