// Package document is an answer for readers: sentences, verdicts, tables and pictures. It is made
// once, and shown as text on a terminal and as a page of HTML, which has the pictures too.
//
//	document.go   documents, their sections, and verdicts
//	table.go      tables
//	grid.go       tables in columns, as text
//	text.go       documents as text
//	page.go       documents as HTML (page.html, page.css, page.js)
//	numbers.go    numbers with their errors, intervals and times
//	words.go      meanings of technical words
package document
