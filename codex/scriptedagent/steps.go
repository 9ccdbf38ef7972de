package scriptedagent

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// verb is one kind of step.
type verb struct {
	pattern string // with the kind of each argument as a code span
	run     func(context.Context, *turn, arguments) error
}

// verbs returns all verbs. An error of a step ends the turn.
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

// lookup returns the verb whose pattern, without the kinds of its arguments, is name.
func lookup(name string) (verb, bool) {
	for _, v := range verbs() {
		if bare, _ := codeSpans(v.pattern); bare == name {
			return v, true
		}
	}
	return verb{}, false
}

// kinds returns the kinds of the verb's arguments, in order.
func (v verb) kinds() []string {
	_, kinds := codeSpans(v.pattern)
	return kinds
}

// arguments are those of a step, which parseScript has checked.
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

// output runs a real command that prints a number of bytes.
func output(ctx context.Context, t *turn, args arguments) error {
	return t.command(ctx, fmt.Sprintf("yes | head -c %d", args.count(0)))
}

// flood sends one message in many small pieces. The item that completes it contains
// only one piece, because its length would be a test of something else.
func flood(ctx context.Context, t *turn, args arguments) error {
	piece := strings.Repeat("flood ", 34)[:200]
	item := t.message()
	end := t.item(ctx, item)
	for range args.count(0) {
		if err := t.stopped(ctx); err != nil {
			return err
		}
		t.notify(ctx, "item/agentMessage/delta", object{"turnId": t.id, "itemId": item["id"], "delta": piece})
	}
	item["text"] = piece
	end(ctx)
	return nil
}

// sendLine sends a line verbatim, also one that Codex would never send.
func sendLine(ctx context.Context, t *turn, args arguments) error {
	t.agent.wire.line(ctx, []byte(args[0]+"\n"))
	return nil
}

// sendLong sends a valid notification with a given number of bytes, without the newline.
func sendLong(ctx context.Context, t *turn, args arguments) error {
	head := fmt.Sprintf(`{"method":"item/agentMessage/delta","params":{"threadId":%q,"turnId":%q,"itemId":"msg_long","delta":"`,
		t.thread.ID, t.id)
	const tail = `"}}`
	pad := args.count(0) - len(head) - len(tail)
	if pad < 0 {
		return fmt.Errorf("a notification has at least %d bytes", len(head)+len(tail))
	}
	t.agent.wire.line(ctx, []byte(head+strings.Repeat("x", pad)+tail+"\n"))
	return nil
}

// turnFailure is the error of a failed turn.
type turnFailure struct {
	Message string
	Info    any // codexErrorInfo: a name, or an object of a name and details
}

func (f *turnFailure) Error() string { return f.Message }

func (f *turnFailure) object() object {
	return object{"message": f.Message, "codexErrorInfo": f.Info, "additionalDetails": nil, "misalignment": nil}
}

// parseFailure reads `usageLimitExceeded` or `httpConnectionFailed 503`.
func parseFailure(s string) (*turnFailure, error) {
	fields := strings.Fields(s)
	message := "the script fails with " + s
	switch len(fields) {
	case 1:
		return &turnFailure{Message: message, Info: fields[0]}, nil
	case 2:
		status, err := strconv.Atoi(fields[1])
		if err != nil {
			return nil, fmt.Errorf("%q is not an HTTP status", fields[1])
		}
		return &turnFailure{Message: message, Info: object{fields[0]: object{"httpStatusCode": status}}}, nil
	}
	return nil, fmt.Errorf("%q is not a name, nor a name and an HTTP status", s)
}
