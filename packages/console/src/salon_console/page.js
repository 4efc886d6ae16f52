// Draws the charts. "ast" reads expressions without eval; styles come from page.css, because the page allows no others.
const specifications = JSON.parse(document.getElementById("specifications").textContent);
const dark = matchMedia("(prefers-color-scheme: dark)");
const look = () => {
  const ink = getComputedStyle(document.documentElement).getPropertyValue("--ink").trim();
  const line = getComputedStyle(document.documentElement).getPropertyValue("--line").trim();
  const axis = { labelColor: ink, titleColor: ink, gridColor: line, domainColor: line, tickColor: line, labelFontSize: 12 };
  return { background: "transparent", view: { stroke: null }, axis, legend: { labelColor: ink, titleColor: ink },
           text: { color: ink }, font: "system-ui, DejaVu Sans, sans-serif",
           mark: { color: dark.matches ? "#7db2f0" : "#2a62a8" }, rule: { color: dark.matches ? "#7db2f0" : "#2a62a8" } };
};
const draw = () => specifications.forEach((specification, index) =>
  window.vegaEmbed(`#chart-${index}`, { ...specification, config: look() }, { actions: false, renderer: "svg", ast: true, defaultStyle: false, tooltip: { disableDefaultStyle: true } })
    .catch((problem) => { document.getElementById(`chart-${index}`).textContent = `This chart could not be drawn: ${problem.message}`; }));
dark.addEventListener("change", draw);
draw();
