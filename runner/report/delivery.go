package report

import (
	"cmp"
	"strings"

	"github.com/symphony-runner/symphony/runner/schedule"
)

// maxReasons is how many reasons of one refusal are shown, maxKept of how many issues
// the commands for their kept work.
const maxReasons, maxKept = 25, 5

// whereDelivered returns a cell with the place of an issue's work: the pull request
// with what became of it, the patch, or the branch. Nothing is there before the first
// push.
func whereDelivered(d schedule.Delivery, pullRequest string) phrase {
	switch {
	case !isPublished(d):
		return nil
	case d.Number > 0:
		cell := phrase{pullRequestLink(d.Number, d.URL)}
		if pullRequest != "" {
			cell = append(cell, own(" "), foreign(pullRequest))
		}
		return cell
	case d.URL != "":
		return phrase{own("patch")}
	}
	return cell(d.Branch)
}

// isPublished reports whether anything was published. A push that has only begun does not
// count.
func isPublished(d schedule.Delivery) bool { return d.Head != "" || d.URL != "" || d.Number > 0 }

// refused returns the issues whose work was refused and that are not parked; the
// parked ones have a place of their own.
func (v view) refused() []Row {
	var rows []Row
	for _, row := range v.Rows {
		if verdict := v.verdicts[row.ID]; row.Refused != "" && (verdict.Phase != schedule.Parked || verdict.Action != "") {
			rows = append(rows, row)
		}
	}
	return rows
}

// itemWithList returns an entry with a list in Markdown below it, such as the reasons of a
// refusal, if it has any.
func itemWithList(text phrase, list string) item {
	it := item{text: text, long: true}
	for i, reason := range reasons(list) {
		if i >= maxReasons {
			it.left++
			continue
		}
		it.sub = append(it.sub, phrase{foreign(reason)})
	}
	return it
}

// reasons returns the reasons of a refusal, which is a list in Markdown.
func reasons(refusal string) []string {
	var list []string
	for line := range strings.Lines(refusal) {
		if line = strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(line), "- ")); line != "" {
			list = append(list, line)
		}
	}
	return list
}

// withoutReasons returns the reason why an issue is parked, without the reasons of a refusal.
func withoutReasons(why, refusal string) string {
	list := reasons(refusal)
	if len(list) == 0 {
		return why
	}
	before, _, found := strings.Cut(why, list[0])
	if !found {
		return why
	}
	return strings.TrimRight(before, " :-")
}

// inOneLine returns the reasons of a refusal.
func inOneLine(refusal string) string { return strings.Join(reasons(refusal), "; ") }

// keptWork adds where work that was not published is kept, and the commands that use
// it.
func (v view) keptWork(d *document) {
	n := 0
	for _, row := range v.Rows {
		if row.Kept.Folder == "" && !row.Kept.Secret {
			continue
		}
		if n++; n > maxKept {
			continue
		}
		if row.Kept.Secret {
			d.add(paragraph{own("The work on "), rowLink(row), own(" was not published. It is in the workspace alone: files that keep it would hold what looks like a secret.")})
			continue
		}
		if v.losesKept(row.Kept) {
			d.add(paragraph{own("The work on "), rowLink(row), own(" was not published: "), foreign(row.Kept.Folder), own(" on its runner keeps it until the job ends.")})
			continue
		}
		// The name of a folder does not end a sentence: "www" and a full stop would read
		// like an address.
		text := phrase{own("The work on "), rowLink(row), own(" was not published: "), foreign(keptIn(row.Kept)), own(" keeps it.")}
		if len(row.Kept.Commands) == 0 {
			d.add(paragraph(text))
			continue
		}
		text[len(text)-1] = own(" keeps it. To look at it and to take it, copy its files into a clone of the repository and run there:")
		d.add(paragraph(text), code(row.Kept.Commands))
	}
	if n > maxKept {
		d.add(paragraph{own(leftOut(n-maxKept) + " with kept work")})
	}
}

// losesKept reports whether kept work is lost with the machine of a job: no artifact has it,
// so a person cannot use the commands.
func (v view) losesKept(k Kept) bool { return v.Scheduled && k.Folder != "" && k.Artifact == "" }

func keptIn(k Kept) string {
	if k.Artifact == "" {
		return k.Folder
	}
	return k.Folder + " of the artifact " + k.Artifact
}

func rowLink(r Row) span { return issueName(r.Identifier, r.ID, r.URL) }

// branchBeside returns the branch of work that also has a pull request or a patch. The
// branch of other work is shown by [whereDelivered].
func branchBeside(d schedule.Delivery) string {
	if d.Number == 0 && d.URL == "" {
		return ""
	}
	return d.Branch
}

// checks returns the state of the checks of the pull request of a row. It returns nothing
// for what this tick pushed, because its checks were not read yet.
func (v view) checks(r Row) string {
	if v.place(r).Number == 0 {
		return ""
	}
	if r.PullRequest == "opened" || r.PullRequest == "updated" {
		return cmp.Or(string(v.Checks[r.ID]), "not known yet")
	}
	return string(v.Checks[r.ID])
}
