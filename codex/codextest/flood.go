package codextest

import (
	"context"
	"fmt"
	"strings"
)

// flood is one message in many small pieces. What completes it is cut short,
// as the flood is the point and not one enormous line.
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

// sendLine sends what Codex never would.
func sendLine(ctx context.Context, t *turn, args arguments) error {
	t.agent.wire.line(ctx, []byte(args[0]+"\n"))
	return nil
}

// sendLong sends a well-formed notification of so many bytes, less the newline.
func sendLong(ctx context.Context, t *turn, args arguments) error {
	head := fmt.Sprintf(`{"method":"item/agentMessage/delta","params":{"threadId":%q,"turnId":%q,"itemId":"msg_long","delta":"`,
		t.thread.ID, t.id)
	const tail = `"}}`
	pad := args.count(0) - len(head) - len(tail)
	if pad < 0 {
		return fmt.Errorf("a notification has no fewer than %d bytes", len(head)+len(tail))
	}
	t.agent.wire.line(ctx, []byte(head+strings.Repeat("x", pad)+tail+"\n"))
	return nil
}
