package attempt

import (
	"context"
	"errors"
	"testing"

	"github.com/symphony-runner/symphony/runner/receipt"
	"github.com/symphony-runner/symphony/workspace/git"
)

// testPublication returns a publication on a repository.
func testPublication(r *Repository) *publication {
	return &newAttempt(Job{Repository: r}, nil).publication
}

func TestOnlyOnePublicationRunsAtATime(t *testing.T) {
	t.Parallel()
	p := testPublication(&Repository{})
	ended := errors.New("the session is stopped")
	ctx, cancel := context.WithCancelCause(t.Context())
	err := p.hold(ctx, func() error {
		cancel(ended)
		return p.hold(ctx, func() error { t.Error("a second one runs beside the first"); return nil })
	})
	if !errors.Is(err, ended) {
		t.Errorf("the second one ends with %v", err)
	}
	if err := p.hold(t.Context(), func() error { return nil }); err != nil {
		t.Errorf("after the first one: %v", err)
	}
}

func TestASettledPublicationKnowsWhetherThereWasSomething(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		answer             Delivered
		err                error
		delivered, refused bool
	}{
		"nothing was published":  {Delivered{}, nil, false, false},
		"a pull request":         {Delivered{URL: "https://example.com/1"}, nil, true, false},
		"the work is refused":    {Delivered{Refused: "it has a secret"}, nil, false, true},
		"the remote is away":     {Delivered{}, git.ErrUnavailable, false, false},
		"a branch, with a doubt": {Delivered{Head: git.ObjectID{1}, Warnings: []string{"no label"}}, nil, true, false},
	} {
		p := testPublication(&Repository{Settle: func(context.Context, receipt.Receipt) (Delivered, error) { return test.answer, test.err }})
		_, err := p.settle(t.Context(), receipt.Receipt{})
		if p.delivered != test.delivered || (p.refused != "") != test.refused || (err == nil) != (test.err == nil && !test.refused) || len(p.failures) != len(test.answer.Warnings) {
			t.Errorf("%s: %v, delivered %v, refused %q, %q", name, err, p.delivered, p.refused, p.failures)
		}
	}
}
