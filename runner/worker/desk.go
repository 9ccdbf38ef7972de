package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"sync"

	"github.com/symphony-runner/symphony/runner/attempt"
	"github.com/symphony-runner/symphony/runner/receipt"
	"github.com/symphony-runner/symphony/tracker"
	"github.com/symphony-runner/symphony/workspace/git"
)

// desk answers the calls of a session on a host: it has the credentials, the store and the state.
type desk struct {
	job   attempt.Job
	temp  string // folder for temporary files
	issue *attempt.SessionIssue

	reading sync.Mutex // held while the issue is read

	mu     sync.Mutex
	works  map[int]attempt.Work
	number int // of the latest work
}

func newDesk(job attempt.Job, temp string) *desk {
	return &desk{job: job, temp: temp, issue: attempt.IssueOf(job), works: map[int]attempt.Work{}}
}

// close closes the work that the session has left open.
func (d *desk) close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, work := range d.works {
		_ = work.Close() // the store deletes it when it is opened again
	}
	d.works = nil
}

func (d *desk) functions() functions {
	f := functions{
		"issue/read": function(d.readIssue),
		"issue/tool": function(d.callTool),
		"reply":      function(d.reply),
		"pictures/attached": function(func(ctx context.Context, a picturesArguments) ([]tracker.Picture, error) {
			from, err := d.pictures(a.OnPull)
			if err != nil {
				return nil, err
			}
			return from.Attached(ctx, d.job.Issue)
		}),
		"pictures/read": streaming(d.readPictures),
	}
	if d.job.Repository == nil {
		return f
	}
	f["source/populate"] = streaming(d.populate)
	f["source/readonly"] = function(d.readOnly)
	f["source/files"] = streaming(d.files)
	f["source/receive"] = streaming(d.receive)
	f["work/tree"] = function(d.tree)
	f["work/packs"] = streaming(d.packs)
	f["work/close"] = function(d.closeWork)
	f["deliver"] = function(d.deliver)
	f["settle"] = function(d.settle)
	return f
}

// none stands for no arguments and no answer.
type none struct{}

func (d *desk) readIssue(ctx context.Context, _ none) (*tracker.Issue, error) {
	d.reading.Lock()
	defer d.reading.Unlock()
	return d.issue.Reread(ctx)
}

type toolArguments struct {
	Name      string
	Arguments json.RawMessage
}

func (d *desk) callTool(ctx context.Context, a toolArguments) (tracker.ToolResult, error) {
	return d.issue.Call(ctx, a.Name, a.Arguments), nil
}

type replyArguments struct {
	ID, Text string
	Resolve  bool
}

func (d *desk) reply(ctx context.Context, a replyArguments) (none, error) {
	if d.job.Reply == nil {
		return none{}, errors.New("there is nothing to reply to")
	}
	return none{}, d.job.Reply(ctx, a.ID, a.Text, a.Resolve)
}

type picturesArguments struct {
	OnPull   bool // on the pull request
	Pictures []tracker.Picture
	Limit    int // bytes
}

// readPicture is the answer's line about a picture.
type readPicture struct {
	Content []byte
	Failure *failure
}

func (d *desk) pictures(onPull bool) (tracker.Pictures, error) {
	from := d.job.Tracker.Pictures
	if onPull {
		from = d.job.PullPictures
	}
	if from == nil {
		return nil, errors.New("there are no pictures")
	}
	return from, nil
}

func (d *desk) readPictures(ctx context.Context, a picturesArguments, _ io.Reader, w http.ResponseWriter) error {
	from, err := d.pictures(a.OnPull)
	if err != nil {
		return err
	}
	out := json.NewEncoder(w)
	for content, err := range from.Read(ctx, d.job.Issue, a.Pictures, a.Limit) {
		line := readPicture{Content: content}
		if err != nil {
			line.Failure = failureOf(err)
		}
		if err := out.Encode(line); err != nil {
			return err
		}
	}
	return nil
}

func (d *desk) populate(ctx context.Context, a populateArguments, _ io.Reader, w http.ResponseWriter) error {
	return d.inFolder(func(into *os.Root) error { return d.job.Repository.Source.Populate(ctx, into, a.Checkout) }, a.Have, w)
}

func (d *desk) packs(ctx context.Context, number int, _ io.Reader, w http.ResponseWriter) error {
	work, err := d.work(number)
	if err != nil {
		return err
	}
	return d.inFolder(func(into *os.Root) error {
		if err := into.MkdirAll(packFolder, 0o755); err != nil {
			return err
		}
		return work.CopyPacks(ctx, into)
	}, nil, w)
}

// inFolder writes the files that fill makes in a folder. have names the packs of the host.
func (d *desk) inFolder(fill func(*os.Root) error, have []string, w io.Writer) error {
	folder, err := os.MkdirTemp(d.temp, "symphony-worker-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	root, err := os.OpenRoot(folder)
	if err != nil {
		return err
	}
	defer root.Close()
	if err := fill(root); err != nil {
		return err
	}
	return writeFolder(w, root.FS(), have)
}

func (d *desk) readOnly(ctx context.Context, a readOnlyArguments) (bool, error) {
	var left attempt.Work
	if a.Left != 0 {
		var err error
		if left, err = d.work(a.Left); err != nil {
			return false, err
		}
	}
	return d.job.Repository.Source.ReadOnly(ctx, left, a.Commits...)
}

func (d *desk) files(ctx context.Context, a filesArguments, _ io.Reader, w http.ResponseWriter) error {
	list := d.job.Repository.Source.Files
	if a.Work != 0 {
		work, err := d.work(a.Work)
		if err != nil {
			return err
		}
		list = work.Files
	}
	files, err := list(ctx, a.Commit, func(string) bool { return true })
	if err != nil {
		return err
	}
	out := json.NewEncoder(w)
	for path, object := range files {
		if err := out.Encode(oneFile{path, object}); err != nil {
			return err
		}
	}
	return nil
}

func (d *desk) receive(ctx context.Context, from git.From, input io.Reader, w http.ResponseWriter) error {
	work, err := d.job.Repository.Source.Receive(ctx, input, from)
	if err != nil {
		return err
	}
	number, ok := d.add(work)
	if !ok {
		return errors.Join(errLost, work.Close())
	}
	return json.NewEncoder(w).Encode(takenWork{number, work.About()})
}

// add keeps work, and returns its number. It reports false if the session is over.
func (d *desk) add(work attempt.Work) (number int, ok bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.works == nil {
		return 0, false
	}
	d.number++
	d.works[d.number] = work
	return d.number, true
}

// work returns the work of a number.
func (d *desk) work(number int) (attempt.Work, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	work, ok := d.works[number]
	if !ok {
		return nil, fmt.Errorf("there is no work %d", number)
	}
	return work, nil
}

func (d *desk) tree(ctx context.Context, a treeArguments) (answer treeAnswer, err error) {
	work, err := d.work(a.Work)
	if err == nil {
		answer.Tree, answer.Parents, err = work.TreeAndParents(ctx, a.Commit)
	}
	return answer, err
}

func (d *desk) closeWork(_ context.Context, number int) (none, error) {
	work, err := d.work(number)
	if err != nil {
		return none{}, err
	}
	d.mu.Lock()
	delete(d.works, number)
	d.mu.Unlock()
	return none{}, work.Close()
}

func (d *desk) deliver(ctx context.Context, a deliverArguments) (deliverAnswer, error) {
	work, err := d.work(a.Number)
	if err == nil && d.job.Repository.Deliver == nil {
		err = errors.New("the work stays in its workspace")
	}
	if err != nil {
		return deliverAnswer{}, err
	}
	a.Work = work
	got, err := d.job.Repository.Deliver(ctx, a.Delivery)
	return answerOf(got, work.About(), err), nil
}

func (d *desk) settle(ctx context.Context, told receipt.Receipt) (deliverAnswer, error) {
	if d.job.Repository.Settle == nil {
		return deliverAnswer{}, nil
	}
	got, err := d.job.Repository.Settle(ctx, told)
	return answerOf(got, git.Facts{}, err), nil
}

func answerOf(got attempt.Delivered, facts git.Facts, err error) deliverAnswer {
	answer := deliverAnswer{Delivered: got, Facts: facts}
	if err != nil {
		answer.Failure = failureOf(err)
	}
	return answer
}
