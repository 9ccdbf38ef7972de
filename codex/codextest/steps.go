package codextest

import (
	"context"
	"fmt"
	"strconv"
	"time"
)

// verb is one thing that a script can ask for.
type verb struct {
	pattern string // with the kind of each argument as a code span
	run     func(context.Context, *turn, arguments) error
}

// verbs are all of them. What a step returns ends the turn.
func verbs() []verb {
	return []verb{
		{"Create `path` containing `text`", createFile},
		{"Append `text` to `path`", appendFile},
		{"Run `command`", runCommand},
		{"Leave `command` running", leaveCommand},
		{"Ask for approval of `command`", askApproval},
		{"Ask `question`", askQuestion},
		{"Call `tool` with `arguments`", callTool},
		{"Move this issue to `state`", moveIssue},
		{"Say `text`", say},
		{"Spend `count` tokens", spend},
		{"Wait `delay`", wait},
		{"Hang", hang},
		{"Fail with `failure`", fail},
		{"Exit `count`", exit},
		{"Flood `count`", flood},
		{"Output `count` bytes", output},
		{"Send `line` verbatim", sendLine},
		{"Send a line of `count` bytes", sendLong},
		{"Ignore signals and EOF", ignoreEnd},
	}
}

// lookup finds the verb whose pattern is name, but for the kinds.
func lookup(name string) (verb, bool) {
	for _, v := range verbs() {
		if bare, _ := codeSpans(v.pattern); bare == name {
			return v, true
		}
	}
	return verb{}, false
}

// kinds are the kinds of the verb's arguments, in order.
func (v verb) kinds() []string {
	_, kinds := codeSpans(v.pattern)
	return kinds
}

// arguments are those of a step, which ParseScript has checked.
type arguments []string

func (a arguments) count(i int) int {
	n, _ := strconv.Atoi(a[i])
	return n
}

func say(ctx context.Context, t *turn, args arguments) error {
	t.say(ctx, args[0])
	return nil
}

func spend(ctx context.Context, t *turn, args arguments) error {
	t.spend(ctx, args.count(0), 0)
	return nil
}

func wait(ctx context.Context, t *turn, args arguments) error {
	d, _ := time.ParseDuration(args[0])
	_, err := await(ctx, t, time.After(d))
	return err
}

func hang(ctx context.Context, t *turn, _ arguments) error {
	_, err := await[any](ctx, t, nil)
	return err
}

func fail(_ context.Context, _ *turn, args arguments) error {
	failure, err := parseFailure(args[0])
	if err != nil {
		return err
	}
	return failure
}

func exit(_ context.Context, _ *turn, args arguments) error {
	return &ExitError{Code: args.count(0)}
}

func ignoreEnd(_ context.Context, t *turn, _ arguments) error {
	t.agent.ignoreEnd()
	return nil
}

// output is a real command, so that its output is what Codex makes of one.
func output(ctx context.Context, t *turn, args arguments) error {
	return t.command(ctx, fmt.Sprintf("yes | head -c %d", args.count(0)))
}
