package runner

import (
	"context"
	"sync"
)

// tasks runs long work beside the loop.
type tasks struct {
	inbox chan message
	over  chan struct{} // closed when nobody reads the inbox any more
	wg    sync.WaitGroup
	begun map[*task]bool // tasks that the loop waits for
}

// task is work in progress. A stop of the run ends its context, if it has one.
type task struct{ cancel context.CancelCauseFunc }

func newTasks() tasks {
	return tasks{inbox: make(chan message), over: make(chan struct{}), begun: map[*task]bool{}}
}

// message applies the result of a session or of a task. The goroutine of the loop calls it.
type message func()

// send passes a message to the loop. After the end of the run nobody learns of it.
func (t *tasks) send(m message) {
	select {
	case t.inbox <- m:
	case <-t.over:
	}
}

// begin runs work beside the loop, which waits for its end and then calls the function that
// work returns. The loop itself calls begin.
func (t *tasks) begin(work func() (end func())) {
	t.run(&task{cancel: func(error) {}}, work)
}

// beginStoppable does the same with work that a stop of the run ends.
func (t *tasks) beginStoppable(ctx context.Context, work func(context.Context) (end func())) {
	ctx, cancel := context.WithCancelCause(ctx)
	t.run(&task{cancel}, func() func() {
		defer cancel(nil)
		return work(ctx)
	})
}

func (t *tasks) run(of *task, work func() (end func())) {
	t.begun[of] = true
	t.wg.Go(func() {
		end := work()
		t.send(func() {
			delete(t.begun, of)
			end()
		})
	})
}

func (t *tasks) stop(cause error) {
	for of := range t.begun {
		of.cancel(cause)
	}
}
