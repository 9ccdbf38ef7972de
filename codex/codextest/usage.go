package codextest

import "context"

// tokens are counts as Codex reports them.
type tokens struct {
	Total      int `json:"totalTokens"`
	Input      int `json:"inputTokens"`
	Cached     int `json:"cachedInputTokens"`
	CacheWrite int `json:"cacheWriteInputTokens"`
	Output     int `json:"outputTokens"`
	Reasoning  int `json:"reasoningOutputTokens"`
}

// tokenUsage is what a thread has spent in its whole life, and last.
type tokenUsage struct {
	Total  tokens `json:"total"`
	Last   tokens `json:"last"`
	Window int    `json:"modelContextWindow"`
}

// spend adds to the usage of the thread, as one answer of a model does.
func (t *turn) spend(ctx context.Context, input, output int) {
	th := t.thread
	th.mu.Lock()
	defer th.mu.Unlock()
	th.tokens.Last = tokens{Total: input + output, Input: input, Output: output}
	th.tokens.Total.Total += input + output
	th.tokens.Total.Input += input
	th.tokens.Total.Output += output
	th.tokens.Window = 258400
	if err := th.rollout.add(record{Tokens: &th.tokens}); err != nil {
		t.agent.log.Error("failed to record usage", "error", err)
	}
	th.notifyUsage(ctx, t.agent.wire, t.id)
	t.agent.wire.notify(ctx, "account/rateLimits/updated", object{"rateLimits": object{
		"limitId": "codex", "limitName": nil, "normalModelSlug": nil, "primary": nil, "secondary": nil,
		"credits": nil, "individualLimit": nil, "spendControlReached": nil, "planType": nil,
		"rateLimitReachedType": nil}})
}

// notifyUsage sends the usage; the caller holds the mutex.
func (t *thread) notifyUsage(ctx context.Context, w *wire, turnID any) {
	w.notify(ctx, "thread/tokenUsage/updated", object{"threadId": t.ID, "turnId": turnID, "tokenUsage": t.tokens})
}
