/// The style sheet of the page: system fonts, two colour schemes, and for the three durabilities three
/// colours that are distinct with the common kinds of colour blindness.
enum TuneStyle {
  static let sheet = """
    :root {
      color-scheme: light dark;
      --paper: #fcfcfa; --card: #ffffff; --ink: #1c2024; --soft: #59626b; --rule: #dde1e4;
      --band: #eef3f8; --s0: #b4500c; --s1: #1f5fa8; --s2: #0f7466;
    }
    @media (prefers-color-scheme: dark) {
      :root {
        --paper: #14171a; --card: #1a1e22; --ink: #e7e9eb; --soft: #a0a9b2; --rule: #30363c;
        --band: #1f2a35; --s0: #f0a566; --s1: #7db4f2; --s2: #5cc9b7;
      }
    }
    * { box-sizing: border-box; }
    html { -webkit-text-size-adjust: 100%; }
    body {
      margin: 0 auto; max-width: 66rem; padding: 2.5rem 1.25rem 4rem; background: var(--paper);
      color: var(--ink); font: 1rem/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans",
      "DejaVu Sans", sans-serif; overflow-wrap: anywhere;
    }
    h1 { margin: 0; font-size: 1.75rem; line-height: 1.2; font-weight: 650; letter-spacing: -0.01em; }
    h2 { margin: 3rem 0 0.75rem; font-size: 1.15rem; font-weight: 650; }
    p { margin: 0.5rem 0; max-width: 46rem; }
    .lead { color: var(--soft); margin-top: 0.4rem; }
    .answer {
      margin: 2rem 0 0; padding: 1.25rem 1.4rem 1.1rem; background: var(--card);
      border: 1px solid var(--rule); border-left: 4px solid var(--s1); border-radius: 6px;
    }
    .answer h2 { margin: 0; font-size: 0.85rem; font-weight: 600; color: var(--soft); }
    .answer ul, .answer p { max-width: 58rem; }
    .answer strong { font-weight: 600; }
    .answer .size { margin: 0.1rem 0 0.6rem; font-size: 1.5rem; line-height: 1.25; font-weight: 650; }
    ul { margin: 0.5rem 0; padding-left: 1.2rem; max-width: 48rem; }
    li { margin: 0.25rem 0; }
    .note { color: var(--soft); font-size: 0.92rem; }
    .charts { display: grid; grid-template-columns: repeat(2, minmax(0, 1fr)); gap: 0 2.25rem; }
    figure > svg { margin-bottom: 2rem; }
    figure {
      margin: 0; min-width: 0; display: grid; grid-row: span 3; grid-template-rows: subgrid; gap: 0;
    }
    figcaption { font-weight: 600; }
    .legend {
      display: flex; flex-wrap: wrap; align-content: flex-start; gap: 0.1rem 1rem;
      margin: 0.15rem 0 0.35rem; padding: 0; list-style: none; font-size: 0.85rem;
      color: var(--soft); min-height: 1.4rem;
    }
    .legend li { margin: 0; display: flex; align-items: center; gap: 0.4rem; }
    .legend svg { width: 26px; height: 12px; flex: none; }
    svg { display: block; width: 100%; height: auto; }
    .s0 { --c: var(--s0); } .s1 { --c: var(--s1); } .s2 { --c: var(--s2); }
    .line { fill: none; stroke: var(--c); stroke-width: 1.75; stroke-linejoin: round; }
    .dashed { stroke-dasharray: 5 4; }
    .range { stroke: var(--c); stroke-width: 1.5; opacity: 0.75; }
    .point { fill: var(--c); stroke: var(--paper); stroke-width: 1.2; }
    .point.hollow { fill: var(--paper); stroke: var(--c); stroke-width: 1.6; }
    .grid { stroke: var(--rule); stroke-width: 1; }
    .chosen { fill: var(--band); }
    .tick { fill: var(--soft); font-size: 11px; font-variant-numeric: tabular-nums; }
    .tick.strong { fill: var(--ink); font-weight: 650; }
    .end { text-anchor: end; } .middle { text-anchor: middle; }
    table { border-collapse: collapse; width: 100%; font-size: 0.92rem; }
    th, td {
      padding: 0.38rem 0.6rem; text-align: right; border-bottom: 1px solid var(--rule);
      font-variant-numeric: tabular-nums; white-space: nowrap; overflow-wrap: normal;
    }
    thead th { color: var(--soft); font-weight: 600; vertical-align: bottom; white-space: normal; }
    tbody th { font-weight: 600; }
    .summary td, .summary th { border-bottom: 0; }
    .summary tr.first td, .summary tr.first th { border-top: 1px solid var(--rule); }
    td.word, th.word { text-align: left; }
    tr.chosen-row td, tr.chosen-row th { background: var(--band); }
    .range-text { color: var(--soft); }
    dl { display: grid; grid-template-columns: max-content minmax(0, 1fr); gap: 0.3rem 1.2rem; margin: 0; }
    dt { color: var(--soft); } dd { margin: 0; }
    code { font: 0.92em ui-monospace, "SF Mono", "DejaVu Sans Mono", monospace; }
    details { margin-top: 2rem; }
    summary { cursor: pointer; font-weight: 650; font-size: 1.15rem; }
    .scroll { overflow-x: auto; margin-top: 0.75rem; }
    .scroll:focus-visible, summary:focus-visible { outline: 2px solid var(--s1); outline-offset: 2px; }
    @media (max-width: 700px) {
      body { padding: 1.5rem 1rem 3rem; }
      h1 { font-size: 1.4rem; }
      .answer { padding: 1rem 1rem 0.8rem; }
      .answer .size { font-size: 1.25rem; }
      .charts { grid-template-columns: minmax(0, 1fr); }
      dl { grid-template-columns: minmax(0, 1fr); gap: 0; }
      dd { margin-bottom: 0.5rem; }
      .summary thead { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
      .summary, .summary tbody, .summary tr, .summary th, .summary td { display: block; text-align: left; }
      .summary tr { padding: 0.6rem 0.6rem; border-bottom: 1px solid var(--rule); }
      .summary tr.chosen-row { background: var(--band); }
      .summary tr { display: grid; grid-template-columns: 1fr 1fr; gap: 0.15rem 1rem; }
      .summary tr.first td, .summary tr.first th { border: 0; }
      .summary th, .summary td { border: 0; padding: 0; white-space: normal; }
      .summary td::before, .summary th::before {
        content: attr(data-label); display: block; font-size: 0.8rem; color: var(--soft);
      }
      .summary th::before { font-weight: 400; }
    }
    @media print {
      :root {
        color-scheme: light; --paper: #fff; --card: #fff; --ink: #000; --soft: #444; --rule: #ccc;
        --band: #f0f0f0; --s0: #b4500c; --s1: #1f5fa8; --s2: #0f7466;
      }
      body { max-width: none; padding: 0; font-size: 10pt; }
      h2 { margin-top: 1.5rem; }
      .scroll { overflow: visible; }
      details table { font-size: 6pt; }
      details th, details td { padding: 0.2rem; }
      figure, .answer, tr { break-inside: avoid; }
      h2 { break-after: avoid; }
      * { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
    }
    """
}
