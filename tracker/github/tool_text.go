package github

import (
	"fmt"
	"strings"

	"github.com/symphony-runner/symphony/tracker/defuse"
)

// defuseBody makes the texts in the body of a call harmless: they are posted in the name
// of the token. A line that closes the issue of the session keeps doing so.
func (c *call) defuseBody() error { return c.defuseTexts(c.Body) }

func (c *call) defuseTexts(body map[string]any) error {
	for key, value := range body {
		var harmless func(string) string
		switch key {
		case "body":
			harmless = defuse.Body
		case "title", "commit_title":
			harmless = func(text string) string { return defuse.Title(text, "") }
		case "message", "commit_message":
			harmless = defuseMessage
		case "comments": // of a review
			if err := c.defuseEach(value); err != nil {
				return err
			}
			continue
		default:
			continue
		}
		text, ok := value.(string)
		if !ok {
			return fmt.Errorf("body.%s must be text", key)
		}
		body[key] = defuse.KeepClosing(harmless(text), "#"+string(c.issue.ID))
	}
	return nil
}

// defuseEach makes the texts in a list of bodies harmless.
func (c *call) defuseEach(value any) error {
	list, ok := value.([]any)
	for _, v := range list {
		body, isObject := v.(map[string]any)
		if ok = ok && isObject; !ok {
			break
		}
		if err := c.defuseTexts(body); err != nil {
			return err
		}
	}
	if !ok {
		return fmt.Errorf("body.comments must be a list of objects")
	}
	return nil
}

// defuseMessage makes the message of a commit harmless.
func defuseMessage(message string) string {
	title, text, _ := strings.Cut(strings.TrimSpace(message), "\n")
	return strings.TrimSpace(defuse.Message(defuse.Title(title, ""), text))
}
