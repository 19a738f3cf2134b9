// Package report makes the document of a finished run. The document begins with the answer in three
// sentences and ends with the evidence for its verdict. A terminal shows the document as text. As a
// page it is one HTML file, which needs no other file and can be sent to a colleague. The pictures
// of the page are also stored as SVG and PNG files.
//
//	err := report.SelectionPage.Finish(ctx, "runs/one") // report.html and figures/
//	err = report.SelectionPage.Print(os.Stdout, "runs/one")
//
// The package reads only run directories. It shows rows of the table from copies in these
// directories.
package report
