package publish

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/symphony-runner/symphony/internal/defuse"
	"github.com/symphony-runner/symphony/internal/redact"
	"github.com/symphony-runner/symphony/runner/delivery"
	"github.com/symphony-runner/symphony/runner/receipt"
	"github.com/symphony-runner/symphony/tracker/github/client"
	"github.com/symphony-runner/symphony/workspace/git"
)

// Publisher publishes the work on the issues of one repository. Any number of
// goroutines may use it.
type Publisher struct {
	Policy  delivery.Settings
	Secrets *redact.Redactor
	Author  git.Person // author of the commits that the host makes
	// KeepHistory says that the agent's own commits are pushed; else one commit is made
	// of them.
	KeepHistory bool
	// Verified says that GitHub makes and signs the commit; it needs GitHub, and
	// KeepHistory is not possible.
	Verified bool
	// GitHub opens pull requests; nil pushes branches only.
	GitHub *client.Client
	Pull   PullRequests
	// Folder is the absolute path of a folder that gets the work as patches; empty pushes
	// it.
	Folder string
	// Run is the name of the run of Actions that publishes, with a link to it, in Markdown;
	// empty for none.
	Run string
	// Listens says that a later run reads the comments on a pull request.
	Listens bool
	// Copies is the absolute path of a folder that gets a patch of each branch that is
	// pushed; empty for none.
	Copies string
}

// PullRequests holds how pull requests are opened.
type PullRequests struct {
	Draft     bool
	Labels    []string
	Assignees []string
	Reviewers []string // logins, and teams as owner/team
}

// Work holds an agent's work on an issue, and the host's knowledge of it.
type Work struct {
	Incoming   *git.Incoming
	Issue      string       // identifier
	Branch     git.Branch   // the issue's, as [Locate] returns it
	RemoteHead git.ObjectID // commit of the branch on the remote, as fetched last; zero if it has none
	Title      string       // the agent's title of the pull request; may be empty
	Text       string       // the agent's text of the pull request; may be empty
	Default    string       // the title if the agent gave none
	Closing    string       // a line that closes the issue when the work is merged; empty for none
	Receipt    receipt.Receipt
	Unproven   bool   // a draft, because the tests failed
	Last       Record // record of earlier runs and calls

	// Proven says that the work is done and needs no check, so a pull request that was a
	// draft because of it is marked as ready; only for Settle.
	Proven bool

	Store *git.Store // has fetched Base; only for Settle, which has no Incoming
	Base  git.Branch // branch that the work is for; only for Settle

	// Save keeps a record: before the push that it announces, and after a publication. It
	// returns when the record is durable.
	Save func(context.Context, Record) error
}

// Result is the result of a publication.
type Result struct {
	Record    Record
	Verdict   delivery.Verdict // its refusals are the reasons why nothing was published
	Secret    bool             // work that is not published holds a secret, also in its history: it must not be kept as files
	Pushed    bool             // the branch was moved, or a patch written
	Published bool             // the branch, or a patch, has the work: by this publication or an earlier one
	State     PullState        // state of the pull request
	Warnings  []string         // failures that do not matter for the work
}

// The errors that the caller distinguishes, besides the errors of package git and of the
// client.
var (
	// ErrClosed: a person closed the pull request without merging it.
	ErrClosed = errors.New("pull_request_closed")
	// ErrNotPermitted: GitHub opens no pull requests for this token.
	ErrNotPermitted = errors.New("pull_request_not_permitted")
)

// Publish publishes the work on an issue, or returns a Result whose verdict has refusals. Work
// that is published already is not an error: the pull request is brought up to date. The errors
// are [git.ErrMoved] if the branch is neither where we left it nor where the session began,
// [git.ErrNothingNew], [ErrClosed], [ErrNotPermitted], and the errors of a push and of GitHub.
func (p *Publisher) Publish(ctx context.Context, w Work, now time.Time) (Result, error) {
	r, err := p.publish(ctx, w, now)
	if r.IsLost(err) {
		secret, unread := p.hidesSecret(ctx, w.Incoming, r.Verdict)
		r.Secret = secret || unread != nil // it may
	}
	return r, p.saveResult(ctx, w, r, err)
}

// IsLost reports whether a publication that ended with err has brought new work nowhere: it
// was refused, here or by the remote, or the remote could not be reached.
func (r Result) IsLost(err error) bool {
	return len(r.Verdict.Refusals) > 0 || err != nil && !r.Published && !errors.Is(err, git.ErrNothingNew)
}

// saveResult saves the record of a publication, if that is not saved yet, and returns the error
// with which it ended. Later steps, such as the hand-over of the issue, find the place of the
// work in the state.
func (p *Publisher) saveResult(ctx context.Context, w Work, r Result, err error) error {
	done := r.Pushed || err == nil && len(r.Verdict.Refusals) == 0
	if !done || r.Record == w.Last || r.Record.IsZero() {
		return err
	}
	if unsaved := w.Save(ctx, r.Record); unsaved != nil {
		err = errors.Join(err, fmt.Errorf("publish %s: the work was published: %w", w.Issue, unsaved))
	}
	return err
}

// publish does the work of Publish, except for the save of its result.
func (p *Publisher) publish(ctx context.Context, w Work, now time.Time) (Result, error) {
	if p.Folder != "" {
		w.RemoteHead = git.ObjectID{} // a patch has all the work
	}
	r := Result{Record: w.Last}
	r.Record.Branch, r.Record.Base = w.Branch, w.Incoming.Base
	if there := w.RemoteHead; there != w.Last.Head && there != w.Incoming.Start && !there.IsZero() {
		return r, fmt.Errorf("publish %s: %w: the branch %s has commits that this session does not have; the next one begins with them", w.Issue, git.ErrMoved, w.Branch)
	}
	changes, err := p.check(ctx, w, &r)
	switch {
	case err != nil || len(r.Verdict.Refusals) > 0:
		return r, err
	case p.Folder != "":
		return p.writePatch(ctx, w, r, changes, now)
	}
	pulls, err := p.findPullRequest(ctx, w)
	if err != nil {
		return r, err
	}
	if pulls.merged != nil {
		changes, err = p.continueAfterMerge(ctx, w, &r, pulls.merged, changes, now)
		if err != nil || len(r.Verdict.Refusals) > 0 || r.State != PullNone {
			return r, err
		}
	}
	title := p.title(w)
	commit := w.Incoming.Tip
	if !p.KeepHistory {
		commit, err = p.squash(ctx, w, changes, title, now)
	}
	switch {
	case errors.Is(err, git.ErrNothingNew) && !w.RemoteHead.IsZero():
		commit = w.RemoteHead
	case err != nil:
		return r, err
	}
	if commit != w.RemoteHead {
		if err := p.push(ctx, w, &r, commit, title, now); err != nil {
			return r, err
		}
		r.Pushed, r.Published = true, true
	} else {
		r.Published = true
		r.Record.Head, r.Record.Pushing = commit, git.ObjectID{}
		if r.Record.At.IsZero() || commit == w.Last.Pushing { // a run that was killed has pushed it
			r.Record.At = now
		}
	}
	if r.Pushed && p.Copies != "" {
		if _, _, err := writeDiff(ctx, w.Incoming, commit, p.Copies, r.Record.Branch); err != nil {
			r.Warnings = append(r.Warnings, fmt.Sprintf("the branch %s is published, and no patch of it was written: %v", r.Record.Branch, err))
		}
	}
	if p.GitHub == nil {
		return r, nil
	}
	return r, p.proposePullRequest(ctx, w, &r, pulls.open, title)
}

// check returns the changes of the work, and sets the parts of the Result about them.
func (p *Publisher) check(ctx context.Context, w Work, r *Result) ([]git.Change, error) {
	changes, verdict, err := p.judge(ctx, w.Incoming, w.RemoteHead)
	r.Verdict = verdict
	for _, warning := range verdict.Warnings {
		if !slices.Contains(r.Warnings, warning) { // the work is checked again when it was merged
			r.Warnings = append(r.Warnings, warning)
		}
	}
	return changes, err
}

func (p *Publisher) squash(ctx context.Context, w Work, changes []git.Change, title string, now time.Time) (git.ObjectID, error) {
	author := p.Author
	author.When = now
	return w.Incoming.Squash(ctx, changes, w.RemoteHead, git.Commit{Author: author, Committer: author, Message: p.message(w, title)})
}

// title returns the title of the pull request and of the commit. Secrets are hidden before it
// is cut, and again when it is harmless: characters that are removed may stand inside one.
func (p *Publisher) title(w Work) string {
	return p.Secrets.String(defuse.Title(p.Secrets.String(w.Title), p.Secrets.String(w.Default), w.Issue))
}

func (p *Publisher) message(w Work, title string) string {
	message := p.Secrets.String(defuse.Message(title, p.Secrets.String(w.Text)))
	if w.Closing != "" {
		message += "\n" + w.Closing + "\n"
	}
	return message
}

// push moves the branch to a commit, or to the one that GitHub makes of it. The objects of
// Git LFS that it needs are there before it.
func (p *Publisher) push(ctx context.Context, w Work, r *Result, commit git.ObjectID, title string, now time.Time) (err error) {
	if err := w.Incoming.UploadObjects(ctx, w.Branch); err != nil {
		return fmt.Errorf("publish %s: nothing was pushed: %w", w.Issue, err)
	}
	switch {
	case p.GitHub == nil && w.Incoming.Remote().Folder() != "":
		r.Record, err = p.deliverLocal(ctx, w, r.Record, commit, now)
	case p.Verified:
		err = p.pushVerified(ctx, w, r, commit, p.message(w, title), now)
	default:
		r.Record, err = p.move(ctx, w, r.Record, commit, now, func() error { return w.Incoming.Push(ctx, w.Branch, commit, w.RemoteHead) })
	}
	return err
}

func (p *Publisher) move(ctx context.Context, w Work, r Record, commit git.ObjectID, now time.Time, move func() error) (Record, error) {
	r.Branch, r.Head, r.Pushing = w.Branch, w.RemoteHead, commit
	if err := w.Save(ctx, r); err != nil {
		return r, fmt.Errorf("publish %s: nothing was pushed: %w", w.Issue, err)
	}
	if err := move(); err != nil {
		return r, fmt.Errorf("publish %s: %w", w.Issue, err)
	}
	r.Head, r.Pushing, r.At = commit, git.ObjectID{}, now
	return r, nil
}

// listParagraph returns a paragraph with a list below an introduction, and the number of entries
// that it leaves out; empty for no entries.
func listParagraph(intro string, entries []string, more int) string {
	if len(entries) == 0 {
		return ""
	}
	if more > 0 {
		entries = append(entries, fmt.Sprintf("and %d more", more))
	}
	return intro + ":\n\n- " + strings.Join(entries, "\n- ")
}

// reviewParagraph returns the paragraph that names the paths for a person.
func reviewParagraph(paths []string) string {
	const shown = 20
	var entries []string
	for _, path := range paths[:min(len(paths), shown)] {
		entries = append(entries, "`"+strings.ReplaceAll(path, "`", "'")+"`")
	}
	return listParagraph("Look at these files with care", entries, len(paths)-shown)
}

// marksParagraph returns the paragraph that names the places that a person does not see on
// the page.
func marksParagraph(marks []delivery.Mark) string {
	var entries []string
	for _, m := range marks {
		entries = append(entries, m.String())
	}
	return listParagraph("This page does not show all of these; look at them in an editor that shows every character", entries, 0)
}

// untakenParagraph returns the paragraph that names the files that could not be taken along
// with the work.
func (p *Publisher) untakenParagraph(u git.Untaken) string {
	var entries []string
	for _, path := range u.Paths {
		entries = append(entries, fmt.Sprintf("`%s` (%s)", p.Secrets.String(strings.ReplaceAll(path.Name, "`", "'")), path.Why))
	}
	return listParagraph("These files of the agent are not in this work, because Git cannot take them", entries, u.More())
}

func paragraphs(parts ...string) string {
	parts = slices.DeleteFunc(parts, func(s string) bool { return strings.TrimSpace(s) == "" })
	for i := range parts {
		parts[i] = strings.TrimSpace(parts[i])
	}
	return strings.Join(parts, "\n\n")
}

// Record holds what a run leaves to the next about the delivery of an issue. The zero
// value stands for no delivery.
type Record struct {
	Branch git.Branch // branch of the remote
	Base   git.Branch // branch that the work is for
	// Head is the commit of the branch as we left it, or the commit that a patch was made of;
	// zero before the first push.
	Head git.ObjectID
	// Pushing is the commit of a push that has begun; zero if none has, or if its end is
	// known. The branch is at Head or at Pushing.
	Pushing git.ObjectID
	Number  int       // number of the pull request; 0 for none
	URL     string    // address of the pull request, or path of the patch
	At      time.Time // time of the latest push
}

// IsZero reports whether nothing was delivered or begun.
func (r Record) IsZero() bool { return r == Record{} }
