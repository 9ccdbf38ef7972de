package feedback

import (
	"slices"
	"strings"

	"github.com/symphony-runner/symphony/runner/schedule"
)

// Order is a comment whose first line is a command. Only comments of trusted people are orders.
type Order struct {
	Comment string // id of the comment
	OnPull  bool   // it is on the pull request, not on the issue
	By      string
	Word    string // the word as written
	Command schedule.Command
	Known   bool // there is such a command
}

// commands are the words that may follow /symphony.
var commands = []schedule.Command{
	schedule.CommandRetry, schedule.CommandStop, schedule.CommandPark, schedule.CommandResume, schedule.CommandStatus,
}

// Commands returns the words that may follow /symphony, for people.
func Commands() []string {
	var words []string
	for _, c := range commands {
		words = append(words, string(c))
	}
	return words
}

// splitCommand returns the word after /symphony in the first line of a text, and the lines
// after that line. A line that is indented or quoted is not a command.
func splitCommand(text string) (word, rest string, ok bool) {
	first, rest, _ := strings.Cut(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
	fields := strings.Fields(first)
	if len(fields) == 0 || fields[0] != "/symphony" || !strings.HasPrefix(first, "/") {
		return "", text, false
	}
	return strings.ToLower(strings.Join(fields[1:], " ")), strings.TrimSpace(rest), true
}

func orderOf(item Item) (Order, bool) {
	c := item.comment
	word, _, ok := splitCommand(c.Text)
	if !ok || !item.order || c.Own || c.Distrust != "" {
		return Order{}, false
	}
	o := Order{Comment: c.ID, OnPull: item.OnPull, By: c.Author, Word: word, Command: schedule.Command(word)}
	o.Known = slices.Contains(commands, o.Command)
	return o, true
}
