package notify

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
)

// The bounds of a message. Slack takes 50 blocks, of 3,000 characters each (header 150);
// Discord 10 embeds of 6,000 characters together, of which a title has 256, a description 4,096
// and a field 1,024; Teams a message of 28 KB.
const (
	maxNotices = 10
	maxTexts   = 5000 // units of UTF-16 of all notices together
	maxLine    = 250
	maxSaid    = 1000
)

// object is a JSON object.
type object = map[string]any

// part is a notice with its texts within the bounds of a message.
type part struct {
	head, line, said string // line holds the title and the reason
	url, issue       string
	notice           Notice
}

// parts returns the notices of a message, with their texts after harmless, and the number of
// notices that have no place in it.
func (b Batch) parts(harmless func(string) string) (parts []part, omitted int) {
	shown := b.Notices[:min(len(b.Notices), maxNotices)]
	each := maxTexts / max(len(shown), 1)
	for _, n := range shown {
		line := cmp.Or(n.Title, n.Why)
		if n.Title != "" && n.Why != "" {
			line = n.Title + ": " + n.Why
		}
		parts = append(parts, part{
			head: fit(n.Headline(), min(each/4, maxLine), harmless),
			line: fit(strings.ReplaceAll(line, "\n", " "), min(each/3, 3*maxLine), harmless),
			said: fit(n.Said, min(each/3, maxSaid), harmless),
			url:  link(cmp.Or(n.PullRequest, n.IssueURL)), issue: fit(n.Issue, 40, harmless), notice: n,
		})
	}
	return parts, len(b.Notices) - len(shown)
}

func more(omitted int) string { return fmt.Sprintf("… and %d more", omitted) }

func (b Batch) from(harmless func(string) string) string {
	return "Symphony" + strings.TrimRight(" · "+fit(b.From, 80, harmless), " ·")
}

// said introduces the text of an agent.
const said = "The agent says"

// Body returns the message of a batch for a kind of destination, as JSON.
func Body(kind Kind, b Batch) []byte {
	var message any
	switch kind {
	case Slack:
		message = b.slack()
	case Discord:
		message = b.discord()
	case Teams:
		message = b.teams()
	default:
		message = b.webhook()
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false) // it takes room, and nobody puts the text into a page
	_ = encoder.Encode(message)  // texts, numbers, lists and objects alone
	return bytes.TrimSpace(out.Bytes())
}

// slack returns the payload of an incoming webhook
// (https://docs.slack.dev/reference/block-kit). Texts from outside stand in plain_text, which
// has no markup.
func (b Batch) slack() object {
	plain := func(s string) object { return object{"type": "plain_text", "text": s, "emoji": false} }
	blocks := []any{object{"type": "context", "elements": []any{plain(b.from(inert))}}}
	parts, omitted := b.parts(inert)
	var heads []string
	for _, p := range parts {
		head := "*" + slackText(p.head) + "*"
		if p.url != "" {
			head += " <" + strings.ReplaceAll(p.url, "&", "&amp;") + "|open>"
		}
		heads = append(heads, slackText(p.head))
		blocks = append(blocks, object{"type": "section", "text": object{"type": "mrkdwn", "text": head, "verbatim": true}})
		if p.line != "" {
			blocks = append(blocks, object{"type": "section", "text": plain(p.line)})
		}
		if p.said != "" {
			blocks = append(blocks, object{"type": "section", "text": plain(said + ":\n" + p.said)})
		}
	}
	if omitted > 0 {
		blocks = append(blocks, object{"type": "context", "elements": []any{plain(more(omitted))}})
		heads = append(heads, more(omitted))
	}
	return object{"text": strings.Join(heads, " · "), "blocks": blocks}
}

// discord returns the parameters of an executed webhook
// (https://docs.discord.com/developers/resources/webhook#execute-webhook).
func (b Batch) discord() object {
	parts, omitted := b.parts(discordText)
	embeds := []any{}
	for _, p := range parts {
		embed := object{"title": p.head}
		if p.url != "" {
			embed["url"] = p.url
		}
		if p.line != "" {
			embed["description"] = p.line
		}
		if p.said != "" {
			embed["fields"] = []any{object{"name": said, "value": p.said}}
		}
		embeds = append(embeds, embed)
	}
	content := b.from(discordText)
	if omitted > 0 {
		content += "\n" + more(omitted)
	}
	return object{"content": content, "embeds": embeds, "allowed_mentions": object{"parse": []any{}}}
}

// teams returns a message with an Adaptive Card, which a webhook of Workflows posts. All texts
// are runs, which have no markup, unlike a TextBlock.
func (b Batch) teams() object {
	run := func(s string, more object) object {
		r := object{"type": "TextRun", "text": s}
		maps.Copy(r, more)
		return r
	}
	block := func(runs ...any) object { return object{"type": "RichTextBlock", "inlines": runs} }
	body := []any{block(run(b.from(inert), object{"isSubtle": true}))}
	parts, omitted := b.parts(inert)
	for _, p := range parts {
		head := []any{run(p.head, object{"weight": "Bolder"})}
		if p.url != "" {
			head = append(head, run(" ", nil), run("open", object{"selectAction": object{"type": "Action.OpenUrl", "url": p.url}}))
		}
		body = append(body, block(head...))
		if p.line != "" {
			body = append(body, block(run(p.line, nil)))
		}
		if p.said != "" {
			body = append(body, block(run(said+": ", object{"isSubtle": true}), run(p.said, nil)))
		}
	}
	if omitted > 0 {
		body = append(body, block(run(more(omitted), nil)))
	}
	card := object{"$schema": "http://adaptivecards.io/schemas/adaptive-card.json", "type": "AdaptiveCard", "version": "1.2", "body": body}
	return object{"type": "message", "attachments": []any{object{"contentType": "application/vnd.microsoft.card.adaptive", "contentUrl": nil, "content": card}}}
}

// webhookNotice is a notice in the message of a webhook. It has the names of the report.
type webhookNotice struct {
	Event       Event  `json:"event"`
	Text        string `json:"text"`
	Issue       string `json:"issue_identifier,omitempty"`
	Title       string `json:"title,omitempty"`
	IssueURL    string `json:"issue_url,omitempty"`
	PullRequest string `json:"pull_request_url,omitempty"`
	Why         string `json:"error,omitempty"`
	Said        string `json:"agent_says,omitempty"`
}

// webhook returns the message of a webhook. A program reads it, so its texts are inert alone.
func (b Batch) webhook() object {
	parts, omitted := b.parts(inert)
	notices := []webhookNotice{}
	for _, p := range parts {
		n := p.notice
		notices = append(notices, webhookNotice{
			n.Event, p.head, p.issue, fit(n.Title, maxLine, inert), link(n.IssueURL), link(n.PullRequest), fit(n.Why, 2*maxLine, inert), p.said,
		})
	}
	return object{"version": 1, "project": fit(b.From, 80, inert), "notices": notices, "omitted": omitted}
}
