package scriptedagent

import (
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/symphony-runner/symphony/codex/scriptedagent"
)

type (
	object = scriptedagent.Object
	turn   = scriptedagent.Turn
)

// verbs returns the steps besides the agent's own.
func verbs() []scriptedagent.Verb {
	return []scriptedagent.Verb{
		{Pattern: "Leave `command` running", Run: leaveCommand},
		{Pattern: "Ask for approval of `command`", Run: askApproval},
		{Pattern: "Ask `question`", Run: askQuestion},
		{Pattern: "Say `text`", Run: act(func(t *turn, args []string) { t.Say(args[0]) })},
		{Pattern: "Spend `count` tokens", Check: checkCount, Run: act(func(t *turn, args []string) { t.Spend(count(args), 0) })},
		{Pattern: "Wait `delay`", Check: checkDelay, Run: wait},
		{Pattern: "Hang", Run: hang},
		{Pattern: "Fail with `failure`", Check: checkFailure, Run: fail},
		{Pattern: "Exit `count`", Check: checkCount, Run: exit},
		{Pattern: "Flood `count`", Check: checkCount, Run: flood},
		{Pattern: "Output `count` bytes", Check: checkCount, Run: output},
		{Pattern: "Send `line` verbatim", Run: act(func(t *turn, args []string) { t.Write(args[0]) })},
		{Pattern: "Send a line of `count` bytes", Check: checkCount, Run: sendLong},
	}
}

func checkCount(args []string) error {
	if n, err := strconv.Atoi(args[0]); err != nil || n < 0 || n > 1<<30 {
		return fmt.Errorf("count: %q is not a whole number up to 2^30", args[0])
	}
	return nil
}

func count(args []string) int {
	n, _ := strconv.Atoi(args[0]) // checkCount has checked it
	return n
}

func checkDelay(args []string) error {
	if d, err := time.ParseDuration(args[0]); err != nil || d < 0 {
		return fmt.Errorf("delay: %q is not a duration like 250ms", args[0])
	}
	return nil
}

func checkFailure(args []string) error {
	_, err := parseFailure(args[0])
	return err
}

// leaveCommand starts a command and does not wait for it. The command has a session of
// its own, so killing the agent's process group does not reach it.
func leaveCommand(_ context.Context, t *turn, args []string) error {
	cmd := exec.Command("bash", "-c", args[0])
	cmd.Dir = t.Cwd
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("leave %q running: %w", args[0], err)
	}
	item := t.CommandItem(args[0])
	item["processId"] = strconv.Itoa(cmd.Process.Pid)
	t.Item(item)
	return cmd.Process.Release()
}

// askApproval runs a command if the client approves it. As in Codex the turn continues
// without the command, unless the answer is cancel, and an answer that cannot be read
// makes the command a failed one.
func askApproval(ctx context.Context, t *turn, args []string) error {
	command := args[0]
	waiting(t, "waitingOnApproval")
	item := t.CommandItem(command)
	end := t.Item(item)
	answer, err := ask(ctx, t, "item/commandExecution/requestApproval", object{
		"kind": "command", "itemId": item["id"], "startedAtMs": item["startedAtMs"], "environmentId": "local",
		"command": item["command"], "cwd": item["cwd"], "commandActions": item["commandActions"],
		"proposedExecpolicyAmendment": nil,
		"availableDecisions":          []string{"accept", "acceptForSession", "decline", "cancel"}})
	if err != nil {
		return err
	}
	var reply struct{ Decision json.RawMessage }
	json.Unmarshal(answer.Result, &reply) // an unreadable result is no answer
	switch string(reply.Decision) {
	case `"accept"`, `"acceptForSession"`:
		waiting(t)
		return t.Execute(ctx, command, item, end)
	case `"decline"`:
		item["status"] = "declined"
	case `"cancel"`:
		item["status"] = "declined"
		err = scriptedagent.ErrInterrupted
	default:
		item["status"] = "failed"
	}
	end()
	waiting(t)
	return err
}

func askQuestion(ctx context.Context, t *turn, args []string) error {
	waiting(t, "waitingOnUserInput")
	answer, err := ask(ctx, t, "item/tool/requestUserInput", object{
		"itemId": t.Message()["id"], "isBlocking": false, "autoResolutionMs": nil,
		"questions": []object{{"id": "q1", "header": "Question", "question": args[0],
			"isOther": true, "isSecret": false, "options": nil}}})
	if err != nil {
		return err
	}
	waiting(t)
	var reply struct {
		Answers map[string]struct{ Answers []string }
	}
	json.Unmarshal(answer.Result, &reply) // an unreadable result is no answer
	if answers := reply.Answers["q1"].Answers; len(answers) > 0 {
		t.Say("The answer is: " + strings.Join(answers, ", "))
	} else {
		t.Say("There is no answer.")
	}
	return nil
}

// ask sends a request about the turn, waits for the answer and notifies the client that
// the request is resolved.
func ask(ctx context.Context, t *turn, method string, params object) (scriptedagent.Message, error) {
	id, answer, err := t.Ask(ctx, method, params)
	if err == nil {
		t.Notify("serverRequest/resolved", object{"requestId": id})
	}
	return answer, err
}

// waiting notifies the client of the reasons why the turn waits; no flags mean none.
func waiting(t *turn, flags ...string) {
	t.Notify("thread/status/changed", object{"status": object{
		"type": "active", "activeFlags": append([]string{}, flags...)}})
}

// act returns a step that neither waits nor fails.
func act(do func(t *turn, args []string)) func(context.Context, *turn, []string) error {
	return func(_ context.Context, t *turn, args []string) error {
		do(t, args)
		return nil
	}
}

func wait(ctx context.Context, _ *turn, args []string) error {
	d, _ := time.ParseDuration(args[0]) // checkDelay has checked it
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func hang(ctx context.Context, _ *turn, _ []string) error {
	<-ctx.Done()
	return context.Cause(ctx)
}

func fail(_ context.Context, _ *turn, args []string) error {
	failure, err := parseFailure(args[0])
	if err != nil {
		return err
	}
	return failure
}

func exit(ctx context.Context, t *turn, args []string) error {
	t.End(&ExitError{Code: count(args)})
	return context.Cause(ctx)
}

func output(ctx context.Context, t *turn, args []string) error {
	return t.Command(ctx, fmt.Sprintf("yes | head -c %d", count(args)))
}

// flood sends one message in many small pieces. The item that completes it contains
// only one piece, because its length would be a test of something else.
func flood(ctx context.Context, t *turn, args []string) error {
	piece := strings.Repeat("flood ", 34)[:200]
	item := t.Message()
	end := t.Item(item)
	for range count(args) {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		t.Notify("item/agentMessage/delta", object{"turnId": t.ID, "itemId": item["id"], "delta": piece})
	}
	item["text"] = piece
	end()
	return nil
}

// sendLong sends a valid notification with a given number of bytes, without the newline.
func sendLong(_ context.Context, t *turn, args []string) error {
	head := fmt.Sprintf(`{"method":"item/agentMessage/delta","params":{"threadId":%q,"turnId":%q,"itemId":"msg_long","delta":"`,
		t.ThreadID, t.ID)
	const tail = `"}}`
	pad := count(args) - len(head) - len(tail)
	if pad < 0 {
		return fmt.Errorf("a notification has at least %d bytes", len(head)+len(tail))
	}
	t.Write(head + strings.Repeat("x", pad) + tail)
	return nil
}

// parseFailure reads `usageLimitExceeded` or `httpConnectionFailed 503`.
func parseFailure(s string) (*scriptedagent.Failure, error) {
	fields := strings.Fields(s)
	message := "the script fails with " + s
	switch len(fields) {
	case 1:
		return &scriptedagent.Failure{Message: message, Info: fields[0]}, nil
	case 2:
		status, err := strconv.Atoi(fields[1])
		if err != nil {
			return nil, fmt.Errorf("failure: %q is not an HTTP status", fields[1])
		}
		return &scriptedagent.Failure{Message: message, Info: object{fields[0]: object{"httpStatusCode": status}}}, nil
	}
	return nil, fmt.Errorf("failure: %q is not a name, nor a name and an HTTP status", s)
}
