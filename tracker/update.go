package tracker

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// UpdateTool is the name of the tool with which an agent changes its own issue, where the
// tracker has no tool of the specification for that.
const UpdateTool = "issue_update"

// IssueUpdate holds the arguments of [UpdateTool] that every tracker takes. An absent or null
// argument is nil.
type IssueUpdate struct {
	State   *string `json:"state"`
	Comment *string `json:"comment"`
}

// Read returns the new state and the text of the comment; empty for an absent one. It fails
// if a state is not one line of 1 to 100 characters, or if a comment is blank.
func (u IssueUpdate) Read() (state, comment string, err error) {
	if u.State != nil {
		state = strings.TrimSpace(*u.State)
		if state == "" || utf8.RuneCountInString(state) > maxName || strings.ContainsFunc(state, isLineBreakOrControl) {
			return "", "", fmt.Errorf("state must be one line of 1 to %d characters", maxName)
		}
	}
	if u.Comment != nil {
		if comment = PlainText(*u.Comment); comment == "" {
			return "", "", errors.New("comment is empty: write one, or leave it out")
		}
	}
	return state, comment, nil
}

func isLineBreakOrControl(r rune) bool { return unicode.IsControl(r) || r == '\u2028' || r == '\u2029' }
