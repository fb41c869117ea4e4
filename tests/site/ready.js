/* Resolves when the scripts of the page, if it has any, have run and it has been drawn. */
() =>
  new Promise((done, failed) => {
    const root = document.documentElement;
    const drawn = () => requestAnimationFrame(() => requestAnimationFrame(done));
    const whole = () => !document.querySelector("script[src]") || "rcReady" in root.dataset;
    if (whole()) return drawn();
    new MutationObserver((_, observer) => {
      if (!whole()) return;
      observer.disconnect();
      drawn();
    }).observe(root, { attributes: true });
    setTimeout(() => failed(new Error("the page's scripts have not run")), 120_000);
  })
