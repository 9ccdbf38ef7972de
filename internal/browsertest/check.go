package browsertest

import (
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
)

// Violations returns everything that axe-core finds wrong with the page: what keeps people
// with other senses, hands and devices from using it. It skips the test without axe-core.
func (p *Page) Violations() []string {
	p.t.Helper()
	path := os.Getenv("SYMPHONY_TEST_AXE")
	if path == "" {
		p.t.Skip("SYMPHONY_TEST_AXE names no axe.min.js of axe-core")
	}
	source, err := os.ReadFile(path)
	must(p.t, err)
	p.Eval(string(source)+"\n;undefined", nil)
	var found []struct {
		ID, Help string
		Nodes    []struct{ HTML, FailureSummary string }
	}
	p.Eval("axe.run(document, {resultTypes: ['violations']}).then((r) => r.violations)", &found)
	var all []string
	for _, violation := range found {
		for _, node := range violation.Nodes {
			all = append(all, fmt.Sprintf("%s: %s: %s\n%s", violation.ID, violation.Help, node.HTML, node.FailureSummary))
		}
	}
	return all
}

// TooWide returns the elements by which the page is wider than its window.
func (p *Page) TooWide() []string {
	p.t.Helper()
	var wide []string
	p.Eval(`(() => {
		const width = document.documentElement.clientWidth;
		if (document.documentElement.scrollWidth <= width) return [];
		return [...document.querySelectorAll('*')].filter((e) => e.getBoundingClientRect().right > width + 1).map((e) => e.outerHTML.slice(0, 200)).slice(0, 5).concat('the page');
	})()`, &wide)
	return wide
}

// TooNarrow returns the cells of tables that people cannot read: cells that break a short word,
// and cells with a sentence that are narrower than 8 rem.
func (p *Page) TooNarrow() []string {
	p.t.Helper()
	var narrow []string
	p.Eval(`(() => {
		const rem = parseFloat(getComputedStyle(document.documentElement).fontSize), found = new Set(), word = document.createRange();
		for (const cell of document.querySelectorAll('td, th, dd')) {
			const text = cell.innerText.trim(), width = cell.getBoundingClientRect().width;
			if (!cell.checkVisibility() || !text || cell.closest('.unseen, caption')) continue;
			if (text.length > 40 && width < 8 * rem) found.add(Math.round(width) + ' pixels: ' + text);
			const texts = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT);
			while (texts.nextNode()) {
				const node = texts.currentNode;
				if (!node.parentElement.checkVisibility()) continue;
				for (const match of node.data.matchAll(/(?<=^|\s)\p{L}{2,12}(?=\s|$)/gu)) {
					word.setStart(node, match.index);
					word.setEnd(node, match.index + match[0].length);
					if (new Set([...word.getClientRects()].map((r) => Math.round(r.top))).size > 1) found.add('broken: ' + match[0] + ' in ' + text);
				}
			}
		}
		return [...found].slice(0, 5);
	})()`, &narrow)
	return narrow
}

// Shot writes a picture of the whole page into the folder SYMPHONY_SHOTS, if there is one.
func (p *Page) Shot(name string) {
	p.t.Helper()
	folder := os.Getenv("SYMPHONY_SHOTS")
	if folder == "" {
		return
	}
	var size struct{ W, H float64 }
	p.Eval("({w: document.documentElement.clientWidth, h: Math.min(document.documentElement.scrollHeight, 4000)})", &size)
	var picture struct{ Data string }
	p.call("Page.captureScreenshot", fields{"captureBeyondViewport": true, "clip": fields{"x": 0, "y": 0, "width": size.W, "height": size.H, "scale": 1}}, &picture)
	data, err := base64.StdEncoding.DecodeString(picture.Data)
	must(p.t, err)
	must(p.t, os.MkdirAll(folder, 0o755))
	must(p.t, os.WriteFile(filepath.Join(folder, fmt.Sprint(name, ".png")), data, 0o644))
}
