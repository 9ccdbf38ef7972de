package store

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"
)

// publishTime bounds the last step of a save, which a stop does not cut short.
const publishTime = 10 * time.Second

// publish moves the branch from the head to the commit. When an answer is lost,
// the branch is asked whether it moved.
func (b *Branch) publish(ctx context.Context, commit string, afresh bool) error {
	ctx, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), publishTime, fmt.Errorf("no answer within %v", publishTime))
	defer cancel()
	for try := 1; ; try++ {
		err := b.move(ctx, commit, afresh)
		if !errors.Is(err, errUnanswered) {
			return err
		}
		took, askErr := b.took(ctx, commit)
		switch {
		case askErr != nil:
			return fmt.Errorf("it is not known whether the state was saved: %w", err)
		case took:
			return nil
		case try == tries || b.api.wait(ctx, try) != nil:
			return err
		}
	}
}

// move asks for the move once. Each of the three ways fails when the branch is
// no longer at the head, and GitHub decides that and moves it in one step:
//
//   - a branch is created only if there is none;
//   - an update without force is refused unless the branch is at an ancestor of
//     the commit, whose only parent is the head;
//   - history can only begin anew by force, and the REST API's force looks at
//     nothing. Nor is deleting and creating a way: whoever comes in between sees
//     no claims. The GraphQL mutation takes the head along, as a condition.
//
// REST does for all but the last: it counts against the better known limit, and
// its failures have a status.
func (b *Branch) move(ctx context.Context, commit string, afresh bool) error {
	if afresh {
		return b.startOver(ctx, commit)
	}
	r := request{op: "move the branch", need: contentsWrite, once: true}
	if b.head == "" {
		r.method, r.url = http.MethodPost, b.api.rest+"/git/refs"
		r.body = map[string]any{"ref": "refs/heads/" + b.name, "sha": commit}
	} else {
		r.method, r.url = http.MethodPatch, b.api.rest+"/git/refs/"+b.ref()
		r.body = map[string]any{"sha": commit, "force": false}
	}
	_, err := b.api.do(ctx, r)
	if r, ok := errors.AsType[*refusal](err); ok && isRefusal(err, http.StatusForbidden, http.StatusConflict, http.StatusUnprocessableEntity) {
		// The token could make the commit, so it is not the permission.
		r.mend = "a rule protects the branch, or there is one with a part of its name: let the token past the rule (Settings, Rules), or give another name"
	}
	return err
}

// startOver moves the branch to a commit without a parent.
func (b *Branch) startOver(ctx context.Context, commit string) error {
	repo, err := b.repository(ctx)
	if err != nil {
		return err
	}
	return b.api.mutate(ctx, "begin the branch's history anew", `mutation($input: UpdateRefsInput!) { updateRefs(input: $input) { clientMutationId } }`,
		map[string]any{
			"repositoryId": repo.NodeID,
			"refUpdates":   []any{map[string]any{"name": "refs/heads/" + b.name, "beforeOid": b.head, "afterOid": commit, "force": true}},
		})
}

// took reports whether the branch is at the commit, or was: another run may have
// saved on top of it already.
func (b *Branch) took(ctx context.Context, commit string) (bool, error) {
	head, err := b.readHead(ctx)
	if err != nil || head == commit || head == b.head {
		return head == commit, err
	}
	var commits []object
	err = b.api.decode(ctx, request{op: "read the history", method: http.MethodGet, need: contentsRead, url: b.api.rest + "/commits?per_page=100&sha=" + head}, &commits)
	return slices.ContainsFunc(commits, func(c object) bool { return c.SHA == commit }), err
}
