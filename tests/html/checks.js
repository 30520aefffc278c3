// SPDX-License-Identifier: GPL-2.0-or-later
// Looks at a report page in a frame, as people with phones, screen readers and
// other colours meet it. Prints TAP, without numbers, into this page's <pre>.
// Takes `page` (the HTML), `summary` (the capture's), `faults` (of its VMAs,
// in the page's order), `names` (strings that must be shown as they are) and
// `ordinary` (whether names and numbers are of an ordinary length).
"use strict";

const lines = [];
function ok(condition, name, detail) {
	lines.push((condition ? "ok - " : "not ok - ") + name);
	if (!condition && detail !== undefined)
		lines.push("# " + String(detail).replace(/\n/g, " ").slice(0, 600));
}

function none(found, name) {
	ok(found.length === 0, name, found.join("; "));
}

function all(root, selector) {
	return Array.from(root.querySelectorAll(selector));
}

function show(element) {
	return element.outerHTML.slice(0, 120);
}

// ---- structure ----

function checkDocument(doc) {
	ok(doc.documentElement.lang === "en", "the language is said");
	ok(doc.title.length > 5, "there is a title");
	ok(doc.compatMode === "CSS1Compat", "no quirks mode");
	ok(/width=device-width/.test(doc.querySelector("meta[name=viewport]")?.content),
	   "the viewport is the device's");
	ok(all(doc, "main").length === 1 && all(doc, "header").length === 1 &&
	   all(doc, "footer").length === 1, "there are landmarks");
	ok(all(doc, "h1").length === 1, "there is one h1");
	let last = 0;
	const skips = all(doc, "h1,h2,h3,h4,h5,h6").filter(heading => {
		const level = Number(heading.tagName[1]), skip = level > last + 1;
		last = level;
		return skip || !heading.textContent.trim();
	});
	none(skips.map(show), "headings are in order and not empty");
	ok(doc.querySelector("h2").textContent === "Verdict", "the verdict comes first");
}

function checkReferences(doc) {
	const ids = all(doc, "[id]").map(element => element.id);
	ok(new Set(ids).size === ids.length, "ids are unique", ids.join(" "));
	none(all(doc, "[aria-labelledby]")
		.filter(element => !ids.includes(element.getAttribute("aria-labelledby"))).map(show),
	     "what names a part is there");
	none(all(doc, "a[href]").filter(link => !link.getAttribute("href").startsWith("#") ||
					!ids.includes(link.getAttribute("href").slice(1))).map(show),
	     "links lead to places in the page");
}

function checkTables(doc) {
	const tables = all(doc, "table");
	ok(tables.length > 2, "there are tables");
	none(tables.filter(table => !table.caption || !table.caption.textContent.trim()).map(show),
	     "each table has a caption");
	none(all(doc, "th").filter(th => !["col", "row"].includes(th.scope) ||
				   !th.textContent.trim()).map(show),
	     "each heading of a table has a scope and a text");
	none(all(doc, "tbody tr").filter(row => row.cells[0].tagName !== "TH").map(show),
	     "each row begins with its heading");
	none(tables.filter(table => all(table, "tr").some(
		row => row.cells.length !== table.rows[0].cells.length)).map(show),
	     "rows are of one length");
	none(all(doc, ".scroll").filter(part => part.tabIndex !== 0 ||
		!(part.getAttribute("aria-label") || part.getAttribute("aria-labelledby"))).map(show),
	     "what scrolls can be reached by keyboard and has a name");
}

function checkPictures(doc) {
	const pictures = all(doc, "svg");
	ok(pictures.length > 0, "there are pictures");
	none(pictures.filter(svg => svg.getAttribute("role") !== "img" ||
			     svg.getAttribute("aria-label").length < 20).map(show),
	     "each picture is described");
	none(all(doc, "figure").filter(figure => !figure.querySelector("figcaption") ||
				       !figure.querySelector("table tbody tr")).map(show),
	     "each picture has a caption and its numbers");
	none(all(doc, ".bar span").filter(bar => bar.textContent ||
		!/^[0-9]+$/.test(bar.closest("tr").cells[1].textContent)).map(show),
	     "each bar has its number beside it");
}

function checkSelfContained(doc, view) {
	none(all(doc, "script,iframe,object,embed,img,video,audio,form,base").map(show),
	     "there are no scripts, frames, forms or files");
	none(all(doc, "*").filter(element => Array.from(element.attributes).some(
		attribute => /^on/i.test(attribute.name) ||
			     /^(src|srcset|action|formaction|background|poster)$/i.test(attribute.name)))
		.map(show), "no attribute runs or loads anything");
	none(all(doc, "[href]").map(element => element.getAttribute("href"))
		.filter(href => !/^(#|data:,$)/.test(href)), "nothing points elsewhere");
	none(all(doc, "style").filter(style => /@import|url\(|expression/.test(style.textContent))
		.map(show), "the style loads nothing");
	ok(view.performance.getEntriesByType("resource").length === 0, "nothing was loaded");
	ok(/default-src 'none'/.test(doc.querySelector("meta[http-equiv]").content),
	   "a policy forbids to load anything");
}

// ---- content ----

function rowsOfVmas(doc) {
	return all(doc.getElementById("vmas").parentElement, "tbody tr");
}

function checkContent(doc) {
	ok(doc.querySelector(".verdict").textContent === summary.verdict, "the verdict is the capture's",
	   doc.querySelector(".verdict").textContent);
	const totals = all(doc, ".totals dd").map(dd => dd.textContent);
	ok(totals[0] === String(summary.faults) && totals[2] === String(summary.installed_pages) &&
	   totals[3] === String(summary.vmas), "so are the totals", totals.join(" "));
	const shown = rowsOfVmas(doc).map(row => row.cells[2].textContent);
	ok(shown.join() === faults.map(String).join(), "VMAs have most faults first",
	   shown.join() + " not " + faults.join());
	const sorted = all(doc, "[aria-sort]").map(th => th.textContent);
	ok(sorted.includes("Faults"), "the order is told", sorted.join());
	none(names.filter(name => !doc.body.textContent.includes(name)),
	     "names are shown as they are");
	none(all(doc, ".dist").filter(table => all(table, ".bar span").length).filter(table => {
		const rows = all(table, "tbody tr");
		const most = Math.max(...rows.map(row => Number(row.cells[1].textContent)));
		return rows.some(row => {
			const bar = row.querySelector(".bar span");
			const expected = Number(row.cells[1].textContent) / most * 100;
			return Math.abs((bar ? parseFloat(bar.style.width) : 0) - expected) > 0.11;
		});
	}).map(show), "bars are as long as their numbers are large");
}

// ---- sizes ----

function checkWidth(doc, view, width) {
	const root = doc.documentElement;
	ok(view.innerWidth === width, "the frame is " + width + " wide", view.innerWidth);
	ok(root.scrollWidth <= width, width + ": the page does not scroll sideways",
	   root.scrollWidth + ": " + all(doc, "*").filter(
		element => !element.closest(".scroll") &&
			   element.getBoundingClientRect().right > width + 1).map(show)[0]);
	none(all(doc, ".scroll").filter(part => part.scrollWidth > part.clientWidth + 1)
		.map(part => part.scrollWidth + " in " + part.clientWidth),
	     width + ": tables fit as well");
	if (ordinary)
		none(brokenWords(doc), width + ": words are whole");
	const verdict = doc.querySelector(".verdict").getBoundingClientRect();
	ok(verdict.top < 200, width + ": the verdict is seen first", verdict.top);
	none(all(doc, "p,td,th,dd,dt,li,caption,figcaption,summary").filter(
		element => parseFloat(view.getComputedStyle(element).fontSize) < 13).map(show),
	     width + ": no text is small");
	none(all(doc, "summary").filter(element => element.getBoundingClientRect().height < 24)
		.map(show), width + ": what is tapped is large enough");
}

// Words that are short enough for any column, and are on two lines all the same.
function brokenWords(doc) {
	const walker = doc.createTreeWalker(doc.body, NodeFilter.SHOW_TEXT), broken = [];
	while (walker.nextNode()) {
		const node = walker.currentNode, range = doc.createRange();
		if (node.parentElement.closest("svg, style"))
			continue;
		for (const word of node.data.matchAll(/[\w().,]+/g)) {
			range.setStart(node, word.index);
			range.setEnd(node, word.index + word[0].length);
			if (word[0].length <= 11 && range.getClientRects().length > 1)
				broken.push(word[0]);
		}
	}
	return Array.from(new Set(broken));
}

// ---- colours ----

function channel(value) {
	value /= 255;
	return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
}

function luminance(colour) {
	const [r, g, b] = colour.match(/[0-9.]+/g).map(Number);
	return 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
}

function contrast(a, b) {
	const [high, low] = [luminance(a), luminance(b)].sort((x, y) => y - x);
	return (high + 0.05) / (low + 0.05);
}

function background(view, element) {
	for (; element; element = element.parentElement) {
		const colour = view.getComputedStyle(element).backgroundColor;
		if (!/, 0\)$|transparent/.test(colour))
			return colour;
	}
	return "rgb(255, 255, 255)";
}

function checkColours(doc, view) {
	const dark = view.matchMedia("(prefers-color-scheme: dark)").matches;
	const scheme = dark ? "dark" : "light";
	const body = luminance(view.getComputedStyle(doc.body).backgroundColor);
	ok(dark ? body < 0.05 : body > 0.9, scheme + ": the page is so", body);
	none(all(doc, "body *").filter(element => element.textContent.trim() && !element.closest("svg") &&
		contrast(view.getComputedStyle(element).color, background(view, element)) < 4.5)
		.map(show), scheme + ": text has a contrast of 4.5");
	none(all(doc, ".bar span").filter(bar => contrast(view.getComputedStyle(bar).backgroundColor,
		background(view, bar.parentElement)) < 3).map(show), scheme + ": bars have one of 3");
	none(all(doc, "svg .on").filter(part => contrast(view.getComputedStyle(part).fill,
		background(view, part.closest("svg"))) < 3).map(show), scheme + ": pictures too");
	none(all(doc, "svg .rail").filter(rail => contrast(view.getComputedStyle(rail).fill,
		view.getComputedStyle(rail.parentElement.querySelector(".on")).fill) < 3).map(show),
	     scheme + ": what is on differs from what is off");
}

// ---- all of it ----

function load(width) {
	return new Promise(resolve => {
		const frame = document.createElement("iframe");
		frame.style.cssText = "border:0;height:800px;width:" + width + "px";
		frame.onload = () => resolve(frame);
		frame.srcdoc = page;
		document.body.append(frame);
	});
}

async function check() {
	for (const width of [360, 390, 768, 1200]) {
		const frame = await load(width);
		const doc = frame.contentDocument, view = frame.contentWindow;
		if (width === 360) {
			checkDocument(doc);
			checkReferences(doc);
			checkTables(doc);
			checkPictures(doc);
			checkSelfContained(doc, view);
			checkContent(doc);
			checkColours(doc, view);
		}
		checkWidth(doc, view, width);
		all(doc, "details").forEach(details => details.open = true);
		ok(doc.documentElement.scrollWidth <= width, width + ": nor when all is unfolded",
		   doc.documentElement.scrollWidth);
		frame.remove();
	}
	lines.push("done");
}

check().catch(error => ok(false, "the checks run", error.stack)).finally(() => {
	const pre = document.createElement("pre");
	pre.id = "results";
	pre.textContent = "\n" + lines.join("\n") + "\n";
	document.body.append(pre);
});
