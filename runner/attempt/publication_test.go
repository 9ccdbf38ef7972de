package attempt

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/symphony-runner/symphony/codex"
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
		_, err := p.settle(t.Context(), nil)
		if p.delivered != test.delivered || (p.refused != "") != test.refused || (err == nil) != (test.err == nil && !test.refused) || len(p.failures) != len(test.answer.Warnings) {
			t.Errorf("%s: %v, delivered %v, refused %q, %q", name, err, p.delivered, p.refused, p.failures)
		}
	}
}

// TestWhatASettledPublicationTells looks at the parts of the receipt that the session has not found out.
func TestWhatASettledPublicationTells(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		repository Repository
		looked     string // failure of a look of this session; empty for no look
		passed     []receipt.Check
		want       receipt.Receipt
	}{
		"no check, no look":             {want: receipt.Receipt{Unchecked: true}},
		"a check that is known":         {Repository{Verify: []string{"make"}}, "", []receipt.Check{{Command: "make"}}, receipt.Receipt{Checks: []receipt.Check{{Command: "make"}}}},
		"a check that is not known":     {repository: Repository{Verify: []string{"make"}}},
		"a look of another session":     {Repository{Review: &Review{}}, "", nil, receipt.Receipt{Unchecked: true, Look: lookElsewhere}},
		"a look of this session failed": {Repository{Review: &Review{}}, "no answer", nil, receipt.Receipt{Unchecked: true, Look: "none: no answer"}},
	} {
		var got receipt.Receipt
		test.repository.Deliver = func(context.Context, Delivery) (Delivered, error) { return Delivered{}, nil }
		test.repository.Settle = func(_ context.Context, told receipt.Receipt) (Delivered, error) { got = told; return Delivered{}, nil }
		p := testPublication(&test.repository)
		if p.look.failed = test.looked; test.looked != "" {
			p.look.seen = git.ObjectID{1}
		}
		if _, err := p.settle(t.Context(), test.passed); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestTheChoiceOfAModelIsNamedInAPullRequest(t *testing.T) {
	t.Parallel()
	for want, choice := range map[string]codex.Choice{
		"":          {},
		"`gpt-5.5`": {Model: "gpt-5.5"},
		"`gpt-5.5`, effort `high`, service tier `flex`, by the label `it's hard`": {Model: "gpt-5.5", Effort: "high", ServiceTier: "flex", Label: "it`s hard"},
	} {
		if got := named(choice); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
