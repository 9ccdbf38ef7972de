package worker

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/symphony-runner/symphony/codex"
	"github.com/symphony-runner/symphony/runner/attempt"
	"github.com/symphony-runner/symphony/runner/pictures"
	"github.com/symphony-runner/symphony/runner/prompt"
	"github.com/symphony-runner/symphony/runner/receipt"
	"github.com/symphony-runner/symphony/tracker"
	"github.com/symphony-runner/symphony/workspace/git"
)

// desk answers the calls of a session on a host: it has the credentials, the store and the state. Whoever
// has taken over the host makes these calls in any order, number and size, and at the same time.
type desk struct {
	job   attempt.Job
	temp  string // folder for temporary files
	issue *attempt.SessionIssue

	reading   sync.Mutex // held while the issue is read
	attached  []tracker.Picture
	using     sync.Mutex // held while the repository is used; guards the fields below
	works     map[int]attempt.Work
	number    int  // of the latest work
	delivered bool // all work is published, as far as this side knows
}

// maxWorks bounds the works of a session that are open at once. It has one, and the ones that earlier
// sessions have left.
const maxWorks = 32

func newDesk(job attempt.Job, temp string) *desk {
	return &desk{job: job, temp: temp, issue: attempt.IssueOf(job), works: map[int]attempt.Work{}}
}

// close closes the work that the session has left open. No call is in progress.
func (d *desk) close() {
	for _, work := range d.works {
		_ = work.Close() // the store deletes it when it is opened again
	}
}

// result returns the issue as it was read last, and whether the tracker no longer shows it, and whether
// its work is published. No call is in progress.
func (d *desk) result() (issue *tracker.Issue, gone, delivered bool) {
	issue, gone = d.issue.Latest()
	return issue, gone, d.delivered
}

func (d *desk) functions() functions {
	toolCalls := cmp.Or(d.job.Codex.MaxToolCalls, codex.DefaultToolCalls)
	turns := d.job.MaxTurns
	if r := d.job.Repository; r != nil {
		turns += r.VerifyRounds
		if r.Review != nil {
			turns += r.Review.Rounds
		}
	}
	reads, said, pictured := atMost(turns+10), atMost(toolCalls), atMost(4*pictures.MaxReads)
	f := functions{
		"issue/read":        reads(function(d.readIssue)),
		"issue/tool":        said(function(d.callTool)),
		"reply":             said(function(d.reply)),
		"pictures/attached": pictured(function(d.attachedPictures)),
		"pictures/read":     pictured(streaming(d.readPictures)),
	}
	if d.job.Repository == nil {
		return f
	}
	used := atMost(20 * (toolCalls + turns)) // a delivery with a check of the work makes a dozen calls
	f["source/populate"] = used(d.exclusive(streaming(d.populate)))
	f["source/readonly"] = used(d.exclusive(function(d.readOnly)))
	f["source/files"] = used(d.exclusive(streaming(d.files)))
	f["source/receive"] = used(d.exclusive(streaming(d.receive)))
	f["work/tree"] = used(d.exclusive(function(d.tree)))
	f["work/packs"] = used(d.exclusive(streaming(d.packs)))
	f["work/close"] = used(d.exclusive(function(d.closeWork)))
	f["deliver"] = used(d.exclusive(function(d.deliver)))
	f["settle"] = used(d.exclusive(function(d.settle)))
	return f
}

// exclusive returns a handler that is called alone: works may not be used at the same time, and one copy of
// the repository at a time is enough.
func (d *desk) exclusive(answer http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		d.using.Lock()
		defer d.using.Unlock()
		answer(w, r)
	}
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

func (d *desk) picturesOf(onPull bool) (tracker.Pictures, error) {
	from := d.job.Tracker.Pictures
	if onPull {
		from = d.job.PullPictures
	}
	if from == nil {
		return nil, errors.New("there are no pictures")
	}
	return from, nil
}

func (d *desk) attachedPictures(ctx context.Context, a picturesArguments) ([]tracker.Picture, error) {
	from, err := d.picturesOf(a.OnPull)
	if err != nil {
		return nil, err
	}
	list, err := from.Attached(ctx, d.job.Issue)
	d.reading.Lock()
	defer d.reading.Unlock()
	d.attached = list
	return list, err
}

// readPictures reads pictures that the session was given. Only content that is a picture leaves.
func (d *desk) readPictures(ctx context.Context, a picturesArguments, _ io.Reader, w http.ResponseWriter) error {
	from, err := d.picturesOf(a.OnPull)
	if err != nil {
		return err
	}
	for i, p := range a.Pictures {
		if i >= pictures.MaxReads || !d.shows(p, a.OnPull) {
			return fmt.Errorf("the session was given no picture %.200q", p.Address)
		}
	}
	out := json.NewEncoder(w)
	for content, err := range from.Read(ctx, d.job.Issue, a.Pictures, min(max(a.Limit, 0), pictures.MaxBytes)) {
		if err == nil {
			_, _, err = pictures.Check(content)
		}
		line := readPicture{Content: content}
		if err != nil {
			line = readPicture{Failure: failureOf(err)}
		}
		if err := out.Encode(line); err != nil {
			return err
		}
	}
	return nil
}

// shows reports whether a text that the session was given shows a picture, or it is an attachment.
func (d *desk) shows(p tracker.Picture, onPull bool) bool {
	isIn := func(text string) bool {
		return p.Address != "" && strings.Contains(html.UnescapeString(text), p.Address)
	}
	if p.Comment == "" {
		d.reading.Lock()
		defer d.reading.Unlock()
		return !onPull && isIn(d.job.Issue.Description) || slices.Contains(d.attached, p)
	}
	return slices.ContainsFunc(d.job.Feedback, func(f prompt.Feedback) bool {
		return f.Comment == p.Comment && f.OnPull == onPull && isIn(f.Text)
	})
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
	if len(d.works) >= maxWorks {
		return fmt.Errorf("%d works are open: the session has to close some", len(d.works))
	}
	work, err := d.job.Repository.Source.Receive(ctx, input, from)
	if err != nil {
		return err
	}
	d.number++
	d.works[d.number] = work
	return json.NewEncoder(w).Encode(takenWork{d.number, work.About()})
}

// work returns the work of a number.
func (d *desk) work(number int) (attempt.Work, error) {
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
	delete(d.works, number)
	return none{}, work.Close()
}

func (d *desk) deliver(ctx context.Context, a deliverArguments) (deliverAnswer, error) {
	work, err := d.work(a.Number)
	switch {
	case err != nil:
		return deliverAnswer{}, err
	case d.job.Repository.Deliver == nil:
		return deliverAnswer{}, errors.New("the work stays in its workspace")
	case !d.beginsHere(work.About().From):
		return deliverAnswer{}, errors.New("the work was taken for another base, or from another commit than the session began with")
	}
	a.Work, a.Receipt = work, d.screenReceipt(a.Receipt)
	got, err := d.job.Repository.Deliver(ctx, a.Delivery)
	d.delivered = err == nil && got.Refused == ""
	return answerOf(got, work.About(), err), nil
}

// screenReceipt returns a receipt of the host, which becomes a part of the pull request, with the issue as it
// is known here.
func (d *desk) screenReceipt(r receipt.Receipt) receipt.Receipt {
	r.Identifier, r.Title, r.URL, r.Sessions = d.job.Issue.Identifier, d.job.Issue.Title, d.job.Issue.URL, d.job.Sessions
	return r.Harmless()
}

// beginsHere reports whether work may begin there. The checks of the work trust these commits. While the
// branch is not pushed, a session goes on with work that began on an older base.
func (d *desk) beginsHere(from git.From) bool {
	c := d.job.Repository.Checkout
	return from.Base == c.Base && (c.Pushed.IsZero() || from.Start == c.Head)
}

func (d *desk) settle(ctx context.Context, told receipt.Receipt) (deliverAnswer, error) {
	if d.job.Repository.Settle == nil {
		return deliverAnswer{}, nil
	}
	got, err := d.job.Repository.Settle(ctx, d.screenReceipt(told))
	d.delivered = err == nil && got.Refused == "" && (!got.Head.IsZero() || got.URL != "")
	return answerOf(got, git.Facts{}, err), nil
}

func answerOf(got attempt.Delivered, facts git.Facts, err error) deliverAnswer {
	answer := deliverAnswer{Delivered: got, Facts: facts}
	if err != nil {
		answer.Failure = failureOf(err)
	}
	return answer
}
