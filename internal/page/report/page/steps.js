"use strict";
for (const steps of document.querySelectorAll(".steps")) {
  const frames = [...steps.querySelectorAll(".frame")];
  if (frames.length < 2) continue;
  const controls = steps.querySelector(".controls");
  const [button, slider, name] = ["button", "input", "output"].map(s => controls.querySelector(s));
  let timer = 0;
  const show = i => {
    frames.forEach((f, k) => f.classList.toggle("on", k === i));
    slider.value = i;
    name.textContent = frames[i].dataset.name;
    slider.setAttribute("aria-valuetext", frames[i].dataset.name);
  };
  const stop = () => { clearInterval(timer); timer = 0; button.textContent = "Play"; };
  button.addEventListener("click", () => {
    if (timer) return stop();
    let i = +slider.value;
    if (i === frames.length - 1) show(i = 0);
    button.textContent = "Pause";
    timer = setInterval(() => {
      if (i + 1 >= frames.length) return stop();
      show(++i);
      if (i === frames.length - 1) stop();
    }, 700);
  });
  slider.addEventListener("input", () => { stop(); show(+slider.value); });
  steps.classList.add("live");
  controls.hidden = false;
  show(+steps.dataset.start);
}
