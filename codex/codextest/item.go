package codextest

import (
	"context"
	"fmt"
	"time"
)

// itemID numbers the items of the turn.
func (t *turn) itemID(kind string) string {
	t.items++
	return fmt.Sprintf("%s_%s_%d", kind, t.id[len(t.id)-12:], t.items)
}

// item announces an item that has started, and returns what announces its end,
// which the caller may first change.
func (t *turn) item(ctx context.Context, item object) (end func(context.Context)) {
	now := time.Now().UnixMilli()
	item["startedAtMs"], item["completedAtMs"] = now, nil
	t.notify(ctx, "item/started", object{"turnId": t.id, "item": item, "startedAtMs": now})
	return func(ctx context.Context) {
		now := time.Now().UnixMilli()
		item["completedAtMs"] = now
		t.notify(ctx, "item/completed", object{"turnId": t.id, "item": item, "completedAtMs": now, "contentTokenCount": nil})
	}
}

// hear announces what the client says.
func (t *turn) hear(ctx context.Context, text string) {
	t.item(ctx, object{"type": "userMessage", "id": newID(), "clientId": nil,
		"content": []object{{"type": "text", "text": text, "text_elements": []object{}}}})(ctx)
}

// message is a message of the agent that has no text yet.
func (t *turn) message() object {
	return object{"type": "agentMessage", "id": t.itemID("msg"), "text": "", "phase": nil, "moderation": nil,
		"memoryCitation": nil, "delivery": nil, "questions": nil}
}

// say is a message of the agent, all at once.
func (t *turn) say(ctx context.Context, text string) {
	item := t.message()
	end := t.item(ctx, item)
	t.notify(ctx, "item/agentMessage/delta", object{"turnId": t.id, "itemId": item["id"], "delta": text})
	item["text"] = text
	end(ctx)
	t.said = item
}
